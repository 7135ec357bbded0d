package handlers

import (
	"context"
	"time"

	"github.com/a-h/templ"

	"fleetboard/handlers/web"
	"fleetboard/internal/kanban"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
)

// settle is how long the consequences of a change, such as every reason that
// names a free seat, are gathered before they are read again.
const settle = time.Second

// showing makes the messages of one live picture, once for all who see the same.
type showing struct {
	server *Server
	who    tenancy.Principal // the first who looked; all the others see what this one may
	region region
	seats  seats

	// Only run touches these.
	updates <-chan *kanban.Update
	fleet   views.Fleet // as the sidebar shows it
	later   <-chan time.Time
}

// run makes messages until ctx ends. What cannot be made ends the streams: their
// pages connect again.
func (w *showing) run(ctx context.Context) {
	defer w.seats.end()
	beat := time.NewTicker(heartbeatEvery)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			err = w.beat(ctx)
		case <-w.later:
			w.later = nil
			err = w.refresh(ctx)
		case u, ok := <-w.updates:
			if !ok {
				return
			}
			err = w.take(ctx, w.gathered(u))
		}
		if err != nil {
			if ctx.Err() == nil {
				w.server.Log.WarnContext(ctx, "show live changes", "error", err)
			}
			return
		}
	}
}

// gathered is an update with those that came meanwhile.
func (w *showing) gathered(first *kanban.Update) *kanban.Update {
	var all *kanban.Update
	for {
		select {
		case u, ok := <-w.updates:
			if !ok {
				return &kanban.Update{Reset: true}
			}
			if all == nil {
				all = &kanban.Update{}
				merge(all, first)
			}
			merge(all, u)
		default:
			if all == nil {
				return first
			}
			return all
		}
	}
}

// take shows an update.
func (w *showing) take(ctx context.Context, u *kanban.Update) error {
	if u.Reset {
		return w.reset(ctx)
	}
	n, err := w.region.change(ctx, u)
	if err != nil {
		return err
	}
	if u.Fleet != nil {
		w.fleet = web.FleetModel(*u.Fleet)
	}
	n.around(u)
	if n.later && w.later == nil {
		w.later = time.After(w.server.settle)
	}
	return w.seats.tell(ctx, n, u.Cursor)
}

// refresh reads again what follows from changes.
func (w *showing) refresh(ctx context.Context) error {
	parts, err := w.region.refresh(ctx)
	if err != nil || len(parts) == 0 {
		return err
	}
	return w.seats.tell(ctx, news{parts: parts}, "")
}

// beat looks for what changes without an event, such as an agent that has gone
// silent.
func (w *showing) beat(ctx context.Context) error {
	snap, err := w.server.Fleet.Snapshot(ctx, w.who)
	if err != nil {
		return err
	}
	if !sameFleet(w.fleet, web.FleetModel(snap)) {
		return w.take(ctx, &kanban.Update{Fleet: &snap})
	}
	if w.region.ages() {
		return w.refresh(ctx)
	}
	return nil
}

// reset lets every page fetch itself again, for the showing missed too much, and
// goes on from the place that they will then show.
func (w *showing) reset(ctx context.Context) error {
	place, err := w.server.Kanban.Here(ctx, w.who)
	if err != nil {
		return err
	}
	if w.updates, err = w.server.Kanban.Watch(ctx, w.who, place); err != nil {
		return err
	}
	if w.later == nil {
		w.later = time.After(w.server.settle)
	}
	return w.seats.tell(ctx, news{reset: true}, place)
}

// around adds what an update changes on every page.
func (n *news) around(u *kanban.Update) {
	if n.reset {
		return
	}
	if u.Fleet != nil {
		n.parts = append(n.parts, views.LiveFleet(web.FleetModel(*u.Fleet)))
	}
	n.parts = append(n.parts, navNews(u)...)
}

// message is what goes out to a reader; nil where there is nothing to show.
func (n news) message(ctx context.Context, cursor string) ([]byte, error) {
	if n.reset {
		return namedMessage("reset", cursor), nil
	}
	if len(n.parts) == 0 {
		return nil, nil
	}
	return partsMessage(ctx, cursor, n.parts)
}

// columns are the names of the columns that the message holds whole.
func (n news) columns() []string {
	var list []string
	for _, p := range n.parts {
		if c, whole := p.(wholeColumn); whole {
			list = append(list, c.all.Name)
		}
	}
	return list
}

var _ templ.Component = wholeColumn{}
