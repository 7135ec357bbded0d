package webhooks

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/leadership"
	"github.com/fleetboard/fleetboard/internal/runloop"
	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	// lookEvery is how often the process looks for webhooks of which it was not told, and each webhook
	// and each reader for events.
	lookEvery = 20 * time.Second
	// maxInFlight bounds the tries of the process, workspaceExtra those of a workspace beside the first
	// of each webhook, and perWebhook those of a webhook. One whose last try failed gets one.
	maxInFlight    = 2000
	workspaceExtra = 20
	perWebhook     = 4
)

// Run is a candidate for the process that sends until ctx ends, and sends while this one does. It
// returns nil.
func (s *Service) Run(ctx context.Context) error { return s.election.Run(ctx, s.lead) }

func (s *Service) lead(ctx context.Context, term *leadership.Term) { s.sendWhile(ctx, term.Trusted) }

// sendWhile sends until ctx ends, and begins nothing new while trusted returns false.
func (s *Service) sendWhile(ctx context.Context, trusted func() bool) {
	f := &fleet{Service: s, ctx: ctx, trusted: trusted, changed: signal.New(), lines: map[name]*line{},
		all: make(chan struct{}, maxInFlight), extra: map[ids.ID]chan struct{}{}, readers: map[ids.ID]*reader{}}
	defer s.wake.Subscribe(topics, f.changedIn)()
	defer s.wake.Subscribe(eventlog.Topics, f.appendedTo)()
	_ = runloop.Run(ctx, s.log, runloop.Loop{Name: "webhooks", Every: lookEvery, Jitter: lookEvery / 4, Kick: f.changed.C(), Do: f.look})
	f.running.Wait()
}

// name names a webhook.
type name struct{ workspace, id ids.ID }

// fleet is the webhooks of all workspaces, while this process sends.
type fleet struct {
	*Service

	ctx     context.Context //nolint:containedctx // of the term, which all of it lives for
	trusted func() bool
	changed signal.Signal // the webhooks may be others
	running sync.WaitGroup
	all     chan struct{} // holds an entry for each try under way

	mu      sync.Mutex
	lines   map[name]*line
	extra   map[ids.ID]chan struct{} // the same of each workspace
	readers map[ids.ID]*reader       // of each workspace that has lines
}

// changedIn has the webhooks of a workspace, or all, look for work: some are other ones.
func (f *fleet) changedIn(topic string) {
	f.changed.Set()
	workspace, one := ids.Parse(strings.TrimPrefix(topic, topics))
	f.mu.Lock()
	defer f.mu.Unlock()
	for n, l := range f.lines {
		if !one || n.workspace == workspace {
			l.changed.Store(true)
			l.kick.Set()
		}
	}
}

// appendedTo has the log of a workspace, or all, read.
func (f *fleet) appendedTo(topic string) {
	workspace, one := ids.Parse(strings.TrimPrefix(topic, eventlog.Topics))
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, r := range f.readers {
		if !one || id == workspace {
			r.kick.Set()
		}
	}
}

// wakeLines has those webhooks of a workspace look for work that are to.
func (f *fleet) wakeLines(workspace ids.ID, are func(*line) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n, l := range f.lines {
		if n.workspace == workspace && are(l) {
			l.kick.Set()
		}
	}
}

// look starts the lines of new webhooks, and ends those of webhooks that are gone.
func (f *fleet) look(ctx context.Context) error {
	var names []name
	err := f.db.In(ctx, db.System, func(tx db.Tx) error {
		rows, err := q.WebhookNames(ctx, tx)
		for _, r := range rows {
			names = append(names, name{r.WorkspaceID, r.ID})
		}
		return err
	}, db.OneRead)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	there, workspaces := map[name]bool{}, map[ids.ID]bool{}
	for _, n := range names {
		there[n], workspaces[n.workspace] = true, true
		if f.lines[n] == nil {
			f.start(n)
		}
	}
	for n, l := range f.lines {
		if !there[n] {
			l.stop()
			delete(f.lines, n)
		}
	}
	for id, r := range f.readers {
		if !workspaces[id] {
			r.stop()
			delete(f.readers, id)
		}
	}
	return nil
}

// start runs the line of a webhook. The caller holds mu.
func (f *fleet) start(n name) {
	if f.extra[n.workspace] == nil {
		f.extra[n.workspace] = make(chan struct{}, workspaceExtra)
	}
	if f.readers[n.workspace] == nil {
		f.readers[n.workspace] = f.startReader(n.workspace)
	}
	ctx, stop := context.WithCancel(f.ctx)
	kick := signal.New()
	l := &line{fleet: f, name: n, reader: f.readers[n.workspace], ctx: ctx, stop: stop, kick: kick, alarm: alarm{kick: kick},
		extra: f.extra[n.workspace], busy: map[ids.ID]*ids.ID{}}
	f.lines[n] = l
	f.running.Go(func() {
		_ = runloop.Run(ctx, f.log.With("webhook", n.id), runloop.Loop{Name: "webhook", Every: lookEvery, Jitter: lookEvery / 2,
			Kick: l.kick.C(), Do: l.cycle})
		l.finish()
	})
}
