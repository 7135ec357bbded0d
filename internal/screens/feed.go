package screens

import (
	"context"
	"strings"
	"sync"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/signal"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Limits of the live changes.
const (
	watchQueue = 64 // updates that a slow watcher may be behind
	// catchUp is how many events somebody who comes back may have missed before
	// fetching the page anew is cheaper.
	catchUp = 2000
)

// Watch reports the changes of a workspace's board after a place in the log.
// The channel is closed when ctx ends, when the server stops, or after an
// Update with Reset where the watcher fell too far behind. What it gets belongs
// to all who watch and is not to be changed.
func (s *Service) Watch(ctx context.Context, who tenancy.Principal, after string) (<-chan *Update, error) {
	from, err := eventlog.ParseCursor(after)
	if err != nil {
		return nil, err
	}
	return s.feeds.watch(ctx, who, from), nil
}

// CatchUp returns all that has changed between a place in the log and now, in one
// update; nil where nothing has.
func (s *Service) CatchUp(ctx context.Context, who tenancy.Principal, after string) (*Update, error) {
	from, err := eventlog.ParseCursor(after)
	if err != nil {
		return nil, err
	}
	u, _, err := s.feeds.missed(ctx, who, from)
	return u, err
}

// Cursor returns the place in the log from which on everything is news to whoever reads
// after it.
func (s *Service) Cursor(ctx context.Context, who tenancy.Principal) (string, error) {
	var at eventlog.Cursor
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		at, err = eventlog.HeadTx(ctx, tx)
		return err
	})
	return at.String(), err
}

// feeds are the live changes of the workspaces that somebody looks at: one
// reader for each, however many watchers there are.
type feeds struct {
	service     *Service
	events      *eventlog.Log
	unsubscribe []func()

	mu     sync.Mutex
	open   map[ids.ID]*feed
	closed bool
}

type watcher struct {
	updates chan *Update
	// after is the place from which on the watcher is fed; earlier updates are
	// part of its catch-up.
	after eventlog.Cursor
	lost  bool
}

func newFeeds(s *Service, events *eventlog.Log, wake Subscriber) *feeds {
	f := &feeds{service: s, events: events, open: map[ids.ID]*feed{}}
	f.unsubscribe = []func(){wake.Subscribe(eventlog.Topics, f.published), wake.Subscribe("fleet:", f.published)}
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

// published takes a topic, or the bare prefix where some may have been
// missed.
func (f *feeds) published(topic string) {
	kind, id, _ := strings.Cut(topic, ":")
	f.mu.Lock()
	defer f.mu.Unlock()
	for workspace, one := range f.open {
		if id == "" || id == workspace.String() {
			one.fleet = one.fleet || kind == "fleet"
			one.news.Set()
		}
	}
}

func (f *feeds) watch(ctx context.Context, who tenancy.Principal, from eventlog.Cursor) <-chan *Update {
	v := &watcher{updates: make(chan *Update, watchQueue), after: from}
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
	one.watchers[v] = true
	f.mu.Unlock()
	out := make(chan *Update)
	go f.serve(ctx, who, one, v, from, out)
	return out
}

// start opens a workspace's feed. f.mu is held.
func (f *feeds) start(workspace ids.ID) *feed {
	ctx, stop := context.WithCancel(context.Background())
	one := &feed{owner: f, workspace: workspace, who: tenancy.System(workspace, "board"), news: signal.New(),
		stop: stop, watchers: map[*watcher]bool{}}
	f.open[workspace] = one
	go one.run(ctx)
	return one
}

// serve brings a watcher up to date and then hands on what the feed finds.
func (f *feeds) serve(ctx context.Context, who tenancy.Principal, one *feed, v *watcher, from eventlog.Cursor, out chan<- *Update) {
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

func (f *feeds) leave(one *feed, v *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(one.watchers, v)
	if len(one.watchers) == 0 && f.open[one.workspace] == one {
		delete(f.open, one.workspace)
		one.stop()
	}
}

// missed returns what has changed between a place in the log and now, in one update;
// nil where nothing has.
func (f *feeds) missed(ctx context.Context, who tenancy.Principal, from eventlog.Cursor) (*Update, eventlog.Cursor, error) {
	events, at, err := f.events.Tail(ctx, who, from, catchUp)
	if err != nil || len(events) == 0 {
		return nil, from, err
	}
	if len(events) == catchUp {
		return &Update{Reset: true}, at, nil
	}
	sum := summarize(events)
	sum.fleet = true
	u, err := f.service.changes(ctx, who, sum)
	return u, at, err
}
