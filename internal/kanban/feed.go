package kanban

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"fleetboard/internal/eventlog"
	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// Limits of the live changes.
const (
	watchQueue = 64  // updates that a slow viewer may be behind
	tailBatch  = 500 // events read at once
	// catchUp is how many events a viewer that comes back may have missed before
	// fetching the page anew is cheaper.
	catchUp = 2000
	// gather is how long changes are collected before they are shown together.
	gather = 40 * time.Millisecond
	// safety is how often a feed looks although nothing was published.
	safety = 5 * time.Second
	// again is how soon it looks again where something was published that a
	// transaction still running keeps back, and lookAgain how often.
	again     = 100 * time.Millisecond
	lookAgain = 20
)

// Update is what has changed on a board since the last one.
type Update struct {
	Cursor string   // the place in the log after it
	Cards  []Card   // jobs that changed, as they are now
	Gone   []ids.ID // jobs that left the board
	// Touched are the columns that a job entered or left, with the first page
	// that an open filter shows.
	Touched []ColumnPage
	// Fleet is set where factories or agents changed in a way that shows.
	Fleet *fleet.Snapshot
	// Rules is set where a product changed, and with it what may be claimed.
	Rules bool
	// Reset says that too much was missed: the page is to be fetched anew.
	Reset bool
}

// Watch tells of the changes of a workspace's board after a place in the log.
// The channel is closed when ctx ends, when the server stops, or after an
// Update with Reset where the viewer fell too far behind.
func (s *Service) Watch(ctx context.Context, who tenancy.Principal, after string) (<-chan *Update, error) {
	from, err := eventlog.ParseCursor(after)
	if err != nil {
		return nil, err
	}
	return s.feeds.watch(ctx, who, from), nil
}

// feeds are the live changes of the workspaces that somebody looks at: one
// reader for each, however many viewers there are.
type feeds struct {
	service     *Service
	events      *eventlog.Log
	unsubscribe []func()

	mu     sync.Mutex
	open   map[ids.ID]*feed
	closed bool
}

type feed struct {
	owner     *feeds
	workspace ids.ID
	who       tenancy.Principal
	kick      chan struct{}
	stop      context.CancelFunc

	// looks is how often the next empty read is to be repeated soon; only run
	// touches it.
	looks int

	// Guarded by owner.mu.
	viewers map[*viewer]bool
	fleet   bool // the fleet changed since the last update
}

type viewer struct {
	updates chan *Update
	// after is the place from which on the viewer is fed; earlier updates are
	// part of its catch-up.
	after eventlog.Cursor
	lost  bool
}

func newFeeds(s *Service, events *eventlog.Log, wake Subscriber) *feeds {
	f := &feeds{service: s, events: events, open: map[ids.ID]*feed{}}
	f.unsubscribe = []func(){wake.Subscribe("event:", f.published), wake.Subscribe("fleet:", f.published)}
	return f
}

func (f *feeds) close() {
	for _, cancel := range f.unsubscribe {
		cancel()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, one := range f.open {
		one.stop()
	}
}

// published is told of a topic, or of the bare prefix where some may have been
// missed.
func (f *feeds) published(topic string) {
	kind, id, _ := strings.Cut(topic, ":")
	f.mu.Lock()
	defer f.mu.Unlock()
	for workspace, one := range f.open {
		if id == "" || id == workspace.String() {
			one.fleet = one.fleet || kind == "fleet"
			one.wake()
		}
	}
}

func (f *feed) wake() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

func (f *feeds) watch(ctx context.Context, who tenancy.Principal, from eventlog.Cursor) <-chan *Update {
	v := &viewer{updates: make(chan *Update, watchQueue), after: from}
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		close(v.updates)
		return v.updates
	}
	one := f.open[who.Workspace]
	if one == nil {
		one = f.start(who.Workspace)
	}
	one.viewers[v] = true
	f.mu.Unlock()
	out := make(chan *Update)
	go f.serve(ctx, who, one, v, from, out)
	return out
}

// start opens a workspace's feed. f.mu is held.
func (f *feeds) start(workspace ids.ID) *feed {
	ctx, stop := context.WithCancel(context.Background())
	one := &feed{owner: f, workspace: workspace, who: tenancy.System(workspace, "board"), kick: make(chan struct{}, 1),
		stop: stop, viewers: map[*viewer]bool{}}
	f.open[workspace] = one
	go one.run(ctx)
	return one
}

// serve brings a viewer up to date and then hands on what the feed finds.
func (f *feeds) serve(ctx context.Context, who tenancy.Principal, one *feed, v *viewer, from eventlog.Cursor, out chan<- *Update) {
	defer close(out)
	defer f.leave(one, v)
	missed, at, err := f.missed(ctx, who, from)
	if err != nil {
		f.service.log.WarnContext(ctx, "catch up with the board", "err", err)
		missed = &Update{Reset: true}
	}
	if missed != nil && !send(ctx, out, missed) || missed != nil && missed.Reset {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case u, ok := <-v.updates:
			if !ok {
				send(ctx, out, &Update{Reset: true})
				return
			}
			if cursor, err := eventlog.ParseCursor(u.Cursor); err == nil && !at.Before(cursor) && u.Fleet == nil {
				continue // part of the catch-up, which is newer
			}
			if !send(ctx, out, u) {
				return
			}
		}
	}
}

func send(ctx context.Context, out chan<- *Update, u *Update) bool {
	select {
	case out <- u:
		return true
	case <-ctx.Done():
		return false
	}
}

func (f *feeds) leave(one *feed, v *viewer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(one.viewers, v)
	if len(one.viewers) == 0 && f.open[one.workspace] == one {
		delete(f.open, one.workspace)
		one.stop()
	}
}

// missed is what has changed between a place in the log and now, in one update;
// nil where nothing has.
func (f *feeds) missed(ctx context.Context, who tenancy.Principal, from eventlog.Cursor) (*Update, eventlog.Cursor, error) {
	events, at, err := f.events.Tail(ctx, who, from, catchUp)
	if err != nil || len(events) == 0 {
		return nil, from, err
	}
	if len(events) == catchUp {
		return &Update{Reset: true}, at, nil
	}
	u, err := f.service.changes(ctx, who, events, true)
	return u, at, err
}

// run reads the log for all viewers of one workspace.
func (f *feed) run(ctx context.Context) {
	at, err := f.head(ctx)
	for ctx.Err() == nil {
		if err != nil {
			f.owner.service.log.WarnContext(ctx, "read the live changes", "workspace", f.workspace, "err", err)
		}
		if !f.sleep(ctx) {
			return
		}
		at, err = f.read(ctx, at)
	}
}

// head is where a feed begins: at the place of its first viewer, so that
// nothing falls between the two.
func (f *feed) head(context.Context) (eventlog.Cursor, error) {
	f.owner.mu.Lock()
	defer f.owner.mu.Unlock()
	var first eventlog.Cursor
	for v := range f.viewers {
		if first == (eventlog.Cursor{}) || v.after.Before(first) {
			first = v.after
		}
	}
	return first, nil
}

// sleep waits for news, or for the safety look.
func (f *feed) sleep(ctx context.Context) bool {
	pause := time.Duration(float64(safety) * (0.5 + rand.Float64()))
	if f.looks > 0 {
		pause = again
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-f.kick:
		f.looks = lookAgain
	case <-timer.C:
		f.looks = max(0, f.looks-1)
		return true
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(gather):
		return true
	}
}

// read shows what is new after a place in the log. Events that a transaction
// still running keeps back are looked for again shortly.
func (f *feed) read(ctx context.Context, at eventlog.Cursor) (eventlog.Cursor, error) {
	events, next, err := f.owner.events.Tail(ctx, f.who, at, tailBatch)
	if err != nil {
		return at, err
	}
	f.owner.mu.Lock()
	fleetChanged := f.fleet
	f.fleet = false
	f.owner.mu.Unlock()
	if len(events) > 0 {
		f.looks = 0
	} else if !fleetChanged {
		return at, nil
	}
	u, err := f.owner.service.changes(ctx, f.who, events, fleetChanged)
	if err != nil {
		return at, err
	}
	u.Cursor = next.String()
	f.deliver(u)
	if len(events) == tailBatch {
		f.wake()
	}
	return next, nil
}

// deliver hands an update to every viewer; one whose queue is full has to fetch
// the page anew.
func (f *feed) deliver(u *Update) {
	f.owner.mu.Lock()
	defer f.owner.mu.Unlock()
	for v := range f.viewers {
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
