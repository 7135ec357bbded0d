package webhooks

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/runloop"
	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	// spanRows is of how many events a reader reads the types at a time, and maxSpans how many of the
	// results it keeps: those of more than two minutes, in which each webhook has looked by itself.
	spanRows = 5000
	maxSpans = 512
)

// span is a part of the log, and of which types its events are.
type span struct {
	after, end eventlog.Cursor
	types      []eventlog.Type
}

// fits reports whether a webhook of these types wants something of it.
func (s *span) fits(wanted []string) bool {
	return slices.ContainsFunc(wanted, func(w string) bool {
		return w == everything || slices.ContainsFunc(s.types, func(t eventlog.Type) bool { return eventlog.Takes(w, t) })
	})
}

// reader reads which types of events a workspace's log has, once for all of its webhooks, and wakes
// those that want one.
type reader struct {
	*fleet

	workspace ids.ID
	stop      context.CancelFunc
	kick      signal.Signal

	// Of the loop alone.
	alarm alarm
	read  time.Time
	place eventlog.Cursor

	mu    sync.Mutex
	spans []span // each follows the one before
}

// startReader runs the reader of a workspace. The caller holds mu.
func (f *fleet) startReader(workspace ids.ID) *reader {
	ctx, stop := context.WithCancel(f.ctx)
	kick := signal.New()
	r := &reader{fleet: f, workspace: workspace, stop: stop, kick: kick, alarm: alarm{kick: kick}}
	f.running.Go(func() {
		_ = runloop.Run(ctx, f.log.With("workspace", workspace), runloop.Loop{Name: "webhooks of a workspace", Every: lookEvery,
			Jitter: lookEvery / 4, Kick: r.kick.C(), Do: r.cycle})
	})
	return r
}

// cycle reads what is new in the log.
func (r *reader) cycle(ctx context.Context) error {
	if soon := readEvery - time.Since(r.read); soon > 0 {
		r.alarm.set(soon)
		return nil
	}
	r.read = time.Now()
	return r.db.In(ctx, db.Workspace(r.workspace), func(tx db.Tx) error {
		for n := spanRows; n == spanRows && r.place != (eventlog.Cursor{}); {
			var s span
			var err error
			s.after = r.place
			if s.types, n, s.end, err = eventlog.TypesTx(ctx, tx, r.workspace, r.place, spanRows); err != nil {
				return err
			}
			if n > 0 {
				r.add(s)
			}
		}
		return r.finishTx(ctx, tx)
	})
}

// finishTx has the reader look again where events are kept back, and begin anew at the end of a log that
// is of another cluster.
func (r *reader) finishTx(ctx context.Context, tx db.Tx) error {
	head, err := eventlog.HeadTx(ctx, tx)
	if err != nil {
		return err
	}
	if r.place == (eventlog.Cursor{}) || head.Before(r.place) {
		r.begin(head)
		return nil
	}
	late, err := eventlog.HeldBackTx(ctx, tx, r.workspace, r.place)
	if late {
		r.alarm.set(lateEvery)
	}
	return err
}

// begin has the reader go on at a place, and each webhook look by itself at what lies before.
func (r *reader) begin(place eventlog.Cursor) {
	r.place = place
	r.mu.Lock()
	r.spans = nil
	r.mu.Unlock()
	r.wakeLines(r.workspace, func(*line) bool { return true })
}

// add keeps what was read, and wakes those who want something of it.
func (r *reader) add(s span) {
	r.place = s.end
	r.mu.Lock()
	r.spans = append(r.spans, s)
	if len(r.spans) > maxSpans {
		r.spans = slices.Delete(r.spans, 0, len(r.spans)-maxSpans)
	}
	r.mu.Unlock()
	r.wakeLines(r.workspace, func(l *line) bool {
		wanted := l.wanted.Load()
		return wanted == nil || s.fits(*wanted)
	})
}

// skip returns the place up to which nothing after a place is of types that a webhook wants.
func (r *reader) skip(place eventlog.Cursor, wanted []string) eventlog.Cursor {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.spans {
		s := &r.spans[i]
		if place.Before(s.after) || !place.Before(s.end) {
			continue
		}
		if s.fits(wanted) {
			break
		}
		place = s.end
	}
	return place
}
