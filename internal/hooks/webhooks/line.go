package webhooks

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	// readEvery is the shortest time between two looks at the log for one webhook or one workspace.
	readEvery = 250 * time.Millisecond
	// lateEvery is how soon one looks again where events are kept back by a transaction that still runs,
	// or as many tries are under way as may be.
	lateEvery = time.Second
	// expireEvery is how often old deliveries are deleted.
	expireEvery = 10 * time.Minute
)

// due is a delivery that is to be sent now.
type due struct {
	id             ids.ID
	job            *ids.ID
	body           string
	once           bool
	retries, tries int
}

// line is what one webhook has to send.
type line struct {
	*fleet
	name

	reader  *reader
	wanted  atomic.Pointer[[]string] // the types of events; nil until they are known
	changed atomic.Bool              // the webhook may be another one than from
	waits   atomic.Bool              // for another webhook's try to end

	ctx     context.Context //nolint:containedctx // of the webhook, which its tries live for
	stop    context.CancelFunc
	kick    signal.Signal
	extra   chan struct{}
	sending sync.WaitGroup

	// Of the loop alone.
	alarm         alarm
	from          *sender // as it was when the log was read; nil where it is to be read anew
	read, expired time.Time

	mu     sync.Mutex
	busy   map[ids.ID]*ids.ID // the deliveries under way and those of results, with their jobs
	ended  []result           // of tries, which are to be noted
	failed bool               // the last try
}

// cycle notes what tries have led to, makes deliveries of what is new in the log, and starts those that
// are due.
func (l *line) cycle(ctx context.Context) error {
	if err := l.noteEnded(ctx); err != nil {
		return err
	}
	if !l.trusted() {
		return nil
	}
	if err := l.refresh(ctx); err != nil || l.from == nil {
		return err
	}
	if err := l.sendDue(ctx, l.from); err != nil {
		return err
	}
	return l.expire(ctx)
}

// refresh reads the webhook and what is new in the log, where that was not done just now. The webhook may
// be gone.
func (l *line) refresh(ctx context.Context) error {
	if l.changed.Swap(false) {
		l.from = nil
	}
	if soon := readEvery - time.Since(l.read); l.from != nil && soon > 0 {
		l.alarm.set(soon)
		return nil
	}
	from, err := l.sender(ctx)
	if err == nil && from != nil {
		l.wanted.Store(&from.types)
		l.read = time.Now()
		from, err = l.readLog(ctx, from)
	}
	l.from = from
	if err != nil {
		l.from = nil
	}
	return err
}

func (l *line) sender(ctx context.Context) (from *sender, err error) {
	err = l.db.In(ctx, db.Workspace(l.workspace), func(tx db.Tx) error {
		from, err = l.senderTx(ctx, tx, l.workspace, l.id)
		return err
	})
	return from, err
}

// readLog makes deliveries as long as there is room for them, and returns the webhook as it is then.
func (l *line) readLog(ctx context.Context, from *sender) (*sender, error) {
	if from.state != Active || from.pending >= maxPending {
		return from, nil
	}
	for more := true; more && from != nil && from.pending < maxPending; {
		var err error
		if more, err = l.fill(ctx, l.workspace, l.id, from, l.reader.skip(from.place, from.types)); err != nil {
			return nil, err
		}
		if more {
			if from, err = l.sender(ctx); err != nil {
				return nil, err
			}
		}
	}
	if from == nil || from.pending >= maxPending {
		return from, nil
	}
	return from, l.db.In(ctx, db.Workspace(l.workspace), func(tx db.Tx) error { return l.returnTx(ctx, tx, from) })
}

// returnTx moves a webhook back to the end of the log that is behind it: its place is of another cluster,
// from which the rows were restored.
func (l *line) returnTx(ctx context.Context, tx db.Tx, from *sender) error {
	head, err := eventlog.HeadTx(ctx, tx)
	if err != nil || !head.Before(from.place) {
		return err
	}
	l.log.Warn("the log ends before the place of a webhook, which goes on at its end", "webhook", l.id, "place", from.place, "end", head)
	return moveTx(ctx, tx, l.workspace, l.id, from, head)
}

// sendDue starts what is due, as far as there is room for it.
func (l *line) sendDue(ctx context.Context, from *sender) error {
	room, busy, jobs := l.room()
	if room == 0 {
		return nil // the end of a try wakes the line
	}
	var list []due
	err := l.db.In(ctx, db.Workspace(l.workspace), func(tx db.Tx) (err error) {
		if list, err = dueTx(ctx, tx, l.workspace, l.id, from.state == Active, busy, jobs, room); err != nil || len(list) == room {
			return err
		}
		next, err := q.WebhookDeliveryNext(ctx, tx, l.workspace, l.id)
		if err == nil && next >= 0 && next < lookEvery.Seconds() {
			l.alarm.set(time.Duration(next*float64(time.Second)) + 10*time.Millisecond)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i := range list {
		if !l.start(from, list[i]) {
			return nil
		}
	}
	return nil
}

// room returns how many tries may begin, and what is under way.
func (l *line) room() (room int, busy, jobs []ids.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	busy, jobs = []ids.ID{}, []ids.ID{}
	for id, job := range l.busy {
		busy = append(busy, id)
		if job != nil {
			jobs = append(jobs, *job)
		}
	}
	most := perWebhook
	if l.failed {
		most = 1
	}
	return max(0, most-len(busy)), busy, jobs
}

// start begins a try; false where the process or the workspace has as many as it may.
func (l *line) start(from *sender, d due) bool {
	l.mu.Lock()
	first := len(l.busy) == 0
	l.mu.Unlock()
	if !first && !take(l.extra) {
		l.waits.Store(true)
		return false
	}
	if !take(l.all) {
		if !first {
			<-l.extra
		}
		l.alarm.set(lateEvery)
		return false
	}
	l.mu.Lock()
	l.busy[d.id] = d.job
	l.mu.Unlock()
	l.sending.Go(func() {
		l.try(from, d)
		<-l.all
		if !first {
			<-l.extra
			l.wakeLines(l.workspace, func(other *line) bool { return other.waits.Swap(false) })
		}
		l.kick.Set()
	})
	return true
}

// take takes one of what there is a bounded number of; false where none is left.
func take(of chan struct{}) bool {
	select {
	case of <- struct{}{}:
		return true
	default:
		return false
	}
}

// expire deletes what is kept no longer.
func (l *line) expire(ctx context.Context) error {
	if time.Since(l.expired) < expireEvery {
		return nil
	}
	l.expired = time.Now()
	for n := expireBatch; n == expireBatch; {
		err := l.db.In(ctx, db.Workspace(l.workspace), func(tx db.Tx) (err error) {
			n, err = expireTx(ctx, tx, l.workspace, l.id)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
