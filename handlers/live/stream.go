package live

import (
	"bytes"
	"context"
	"time"

	"github.com/a-h/templ"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
)

// settle is how long the consequences of a change, such as every reason that
// names a free seat, are gathered before they are read again.
const settle = time.Second

// stream makes the messages of one view, once for all who see the same.
type stream struct {
	hub         *Hub
	who         tenancy.Principal // the first who looked; all the others see what this one may
	view        View
	subscribers subscribers

	// Only run touches these.
	updates <-chan *screens.Update
	fleet   layout.Fleet // as the sidebar shows it
	health  layout.Health
	later   <-chan time.Time
	changed <-chan struct{}  // what the view listens to, nil for nothing
	hear    <-chan time.Time // when that is to be shown
	heard   []byte           // what was last shown of it
}

// run makes messages until ctx ends. What cannot be made ends the streams: their
// pages connect again.
func (s *stream) run(ctx context.Context) {
	defer s.subscribers.end()
	beat := time.NewTicker(heartbeatEvery)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			err = s.beat(ctx)
		case <-s.later:
			s.later = nil
			err = s.refresh(ctx)
		case <-s.changed:
			if s.hear == nil {
				s.hear = time.After(s.hub.Settle)
			}
		case <-s.hear:
			s.hear = nil
			err = s.listen(ctx)
		case u, ok := <-s.updates:
			if !ok {
				return
			}
			err = s.take(ctx, s.gathered(u))
		}
		if err != nil {
			if ctx.Err() == nil {
				s.hub.site.Log.WarnContext(ctx, "show live changes", "error", err)
			}
			return
		}
	}
}

// gathered returns an update with those that came meanwhile.
func (s *stream) gathered(first *screens.Update) *screens.Update {
	var all *screens.Update
	for {
		select {
		case u, ok := <-s.updates:
			if !ok {
				return &screens.Update{Reset: true}
			}
			if all == nil {
				all = &screens.Update{}
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
func (s *stream) take(ctx context.Context, u *screens.Update) error {
	if u.Reset {
		return s.reset(ctx)
	}
	n, err := s.view.Change(ctx, u)
	if err != nil {
		return err
	}
	if u.Fleet != nil {
		s.fleet = web.FleetModel(*u.Fleet)
	}
	n.frame(u)
	if u.Fleet != nil {
		n.Parts = append(n.Parts, layout.LiveHealth(s.health))
	}
	if n.Later {
		s.soon()
	}
	return s.subscribers.publish(ctx, n, u.Cursor)
}

// soon has the view refreshed when what else follows was gathered.
func (s *stream) soon() {
	if s.later == nil {
		s.later = time.After(s.hub.Settle)
	}
}

// refresh reads again what follows from changes.
func (s *stream) refresh(ctx context.Context) error {
	parts, err := s.view.Refresh(ctx)
	if err != nil || len(parts) == 0 {
		return err
	}
	return s.subscribers.publish(ctx, Update{Parts: parts}, "")
}

// beat looks for what changes without an event, such as an agent that has gone
// silent.
func (s *stream) beat(ctx context.Context) error {
	snap, err := s.hub.site.Fleet.Snapshot(ctx, s.who)
	if err != nil {
		return err
	}
	if now := s.hub.site.Health(ctx); now != s.health {
		s.health = now
		if err := s.subscribers.publish(ctx, Update{Parts: []templ.Component{layout.LiveHealth(now)}}, ""); err != nil {
			return err
		}
	}
	if !sameFleet(s.fleet, web.FleetModel(snap)) {
		needs, err := s.hub.site.Screens.Needs(ctx, s.who, snap)
		if err != nil {
			return err
		}
		return s.take(ctx, &screens.Update{Fleet: &snap, Needs: &needs})
	}
	if s.view.Ages() {
		return s.refresh(ctx)
	}
	return s.listen(ctx)
}

// listen shows what the view listens to, unless that is what was shown last: others may be
// meant by a change.
func (s *stream) listen(ctx context.Context) error {
	l, listens := s.view.(Listener)
	if !listens {
		return nil
	}
	parts, err := l.Heard(ctx)
	if err != nil || len(parts) == 0 {
		return err
	}
	shown, err := partsMessage(ctx, "", parts)
	if err != nil || bytes.Equal(shown.plain, s.heard) {
		return err
	}
	s.heard = shown.plain
	return s.subscribers.publish(ctx, Update{Parts: parts}, "")
}

// start returns the place in the log that pages which are made from now on show, after the view
// has noted what they show.
func (s *stream) start(ctx context.Context) (place string, err error) {
	if place, err = s.hub.site.Screens.Cursor(ctx, s.who); err != nil {
		return "", err
	}
	if v, starts := s.view.(Starter); starts {
		err = v.Start(ctx)
	}
	return place, err
}

// reset lets every page fetch itself again, for the stream missed too much, and
// goes on from the place that they will then show.
func (s *stream) reset(ctx context.Context) error {
	place, err := s.start(ctx)
	if err != nil {
		return err
	}
	if s.updates, err = s.hub.site.Screens.Watch(ctx, s.who, place); err != nil {
		return err
	}
	s.soon()
	return s.subscribers.publish(ctx, Update{Reset: true}, place)
}

// frame adds what a change of the board changes on every page.
func (n *Update) frame(u *screens.Update) {
	if n.Reset {
		return
	}
	if u.Fleet != nil {
		f := web.FleetModel(*u.Fleet)
		n.Parts = append(n.Parts, layout.LiveFleet(f), layout.LiveStop(f.Stop))
	}
	n.Parts = append(n.Parts, counts(u)...)
}

// message returns what goes out to a reader; nil where there is nothing to show.
func (n Update) message(ctx context.Context, cursor string) (*piece, error) {
	if n.Reset {
		return namedMessage("reset", cursor), nil
	}
	if len(n.Parts) == 0 {
		return nil, nil
	}
	return partsMessage(ctx, cursor, n.Parts)
}
