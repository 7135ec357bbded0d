package screens

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/signal"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// The clocks of a feed.
const (
	// gather is how long changes are collected after a quiet time, pace the least
	// time between two readings: whatever happens, a board is notified a few times a
	// second, and then of the last state only.
	gather = 30 * time.Millisecond
	pace   = 120 * time.Millisecond
	// rest is how many times as long as a reading took lies between two: a
	// database that answers slowly is queried less often.
	rest = 2
	// safety is how often a feed looks although nothing was published.
	safety = 5 * time.Second
	// again is how soon it looks again where something was published that a
	// transaction still running keeps back, and lookAgain how often.
	again     = 100 * time.Millisecond
	lookAgain = 20
)

// How many events are read at once, and how often before they are shown.
const (
	tailBatch   = 500
	tailBatches = 10
)

// feed reads the log for all watchers of one workspace.
type feed struct {
	owner     *feeds
	workspace ids.ID
	who       tenancy.Principal
	news      signal.Signal
	stop      context.CancelFunc

	// Only run touches these: how often the next empty read is to be repeated
	// soon, and when the next reading may begin.
	looks int
	next  time.Time
	// The fleet at the last update, by which it is known what no factory can run.
	supply supply

	// Guarded by owner.mu.
	watchers map[*watcher]bool
	fleet    bool // the fleet changed since the last update
}

func (f *feed) run(ctx context.Context) {
	at := f.head()
	for f.sleep(ctx) {
		began := time.Now()
		var err error
		if at, err = f.read(ctx, at); err != nil && ctx.Err() == nil {
			f.owner.service.log.WarnContext(ctx, "read the live changes", "workspace", f.workspace, "err", err)
		}
		f.next = began.Add(max(pace, rest*time.Since(began)))
	}
}

// head is where a feed begins: at the place of its first watcher, so that
// nothing falls between the two.
func (f *feed) head() eventlog.Cursor {
	f.owner.mu.Lock()
	defer f.owner.mu.Unlock()
	var first eventlog.Cursor
	for v := range f.watchers {
		if first == (eventlog.Cursor{}) || v.after.Before(first) {
			first = v.after
		}
	}
	return first
}

// sleep waits for news, or for the safety look, and then until there may be the
// next reading. It is false where the feed has ended.
func (f *feed) sleep(ctx context.Context) bool {
	quiet := signal.Jitter(safety, 0.5)
	if f.looks > 0 {
		quiet = again
	}
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-f.news.C():
		f.looks = lookAgain
	case <-timer.C:
		f.looks = max(0, f.looks-1)
		return true
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(max(gather, time.Until(f.next))):
		return true
	}
}

// read shows what is new after a place in the log. Events that a transaction
// still running keeps back are looked for again shortly.
func (f *feed) read(ctx context.Context, at eventlog.Cursor) (eventlog.Cursor, error) {
	fleetChanged := f.takeFleet()
	sum, next, more, err := f.tail(ctx, at)
	if err == nil && (sum.cursor != "" || fleetChanged) {
		sum.supply, sum.fleet = f.supply, sum.fleet || fleetChanged
		var u *Update
		if u, err = f.owner.service.changes(ctx, f.who, sum); err == nil {
			f.supply = u.supply
			f.deliver(u)
		}
	}
	if err != nil {
		f.giveBack(fleetChanged)
		return at, err
	}
	if more {
		f.news.Set()
	}
	return next, nil
}

// tail sums up what follows a place in the log, and the place after it. more says
// that there is more than is read at once.
func (f *feed) tail(ctx context.Context, at eventlog.Cursor) (sum summary, next eventlog.Cursor, more bool, err error) {
	sum = newSummary()
	for range tailBatches {
		events, place, err := f.owner.events.Tail(ctx, f.who, at, tailBatch)
		if err != nil {
			return sum, at, false, err
		}
		for _, e := range events {
			sum.add(e)
		}
		at = place
		if len(events) < tailBatch {
			return sum, at, false, nil
		}
	}
	return sum, at, true, nil
}

func (f *feed) takeFleet() bool {
	f.owner.mu.Lock()
	defer f.owner.mu.Unlock()
	changed := f.fleet
	f.fleet = false
	return changed
}

// giveBack keeps what could not be sent for the next reading.
func (f *feed) giveBack(fleetChanged bool) {
	f.owner.mu.Lock()
	defer f.owner.mu.Unlock()
	f.fleet = f.fleet || fleetChanged
}

// deliver hands an update to every watcher; one whose queue is full has to fetch
// the page anew.
func (f *feed) deliver(u *Update) {
	f.owner.mu.Lock()
	defer f.owner.mu.Unlock()
	for v := range f.watchers {
		if v.lost {
			continue
		}
		select {
		case v.updates <- u:
		default:
			v.lost = true
			close(v.updates)
		}
	}
}
