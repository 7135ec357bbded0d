package handlers

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
)

// showings are the live pictures that somebody looks at.
type showings struct {
	server *Server

	mu   sync.Mutex
	open map[string]*opened
}

// opened is a showing and how many look at it.
type opened struct {
	showing
	picture string
	readers int // guarded by showings.mu
	stop    context.CancelFunc
	made    chan struct{} // closed when the showing runs, or err says why not
	err     error
}

// pictureOf names what a reader sees: whoever has the same name sees the same.
// The timeline counts from each page on, so nobody shares it.
func pictureOf(c echo.Context, who tenancy.Principal) string {
	q := maps.Clone(c.QueryParams())
	delete(q, "after")
	picture, rights := q.Encode(), string(who.Role)
	switch q.Get("on") {
	case "board":
		picture, rights = links.LiveBoard("", parseFilter(q))+q.Get(emptyParam), fmt.Sprint(who.Can(tenancy.WriteJobs))
	case "timeline":
		picture += ids.New().String()
	}
	return fmt.Sprintf("%s %s %s %s %s", who.Workspace, rights, c.Scheme(), c.Request().Host, picture)
}

// join gives a reader a seat in front of what the request asks for. Until leave,
// all that changes from now on is told there.
func (s *showings) join(c echo.Context, who tenancy.Principal) (*opened, *seat, error) {
	for {
		o, first := s.enter(pictureOf(c, who))
		if first {
			if o.err = s.begin(o, c, who); o.err != nil {
				o.seats.end()
			}
			close(o.made)
		}
		select {
		case <-o.made:
		case <-c.Request().Context().Done():
			s.leave(o, nil)
			return nil, nil, c.Request().Context().Err()
		}
		one := &seat{}
		if o.seats.add(one) {
			return o, one, nil
		}
		s.leave(o, nil)
		s.forget(o)
		if first && o.err != nil {
			return nil, nil, o.err
		}
		// Another one could not begin it, or it has just ended: begin anew.
	}
}

func (s *showings) enter(picture string) (o *opened, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o = s.open[picture]; o == nil {
		o, first = &opened{picture: picture, made: make(chan struct{}), stop: func() {}}, true
		o.server, o.seats.list = s.server, map[*seat]bool{}
		s.open[picture] = o
	}
	o.readers++
	return o, first
}

// begin makes the region with the first reader's request and lets it run.
func (s *showings) begin(o *opened, c echo.Context, who tenancy.Principal) error {
	snap, err := s.server.Fleet.Snapshot(c.Request().Context(), who)
	if err != nil {
		return err
	}
	o.who, o.fleet = who, web.FleetModel(snap)
	if o.region, err = s.server.regionOf(c, who, snap); err != nil {
		return err
	}
	place, err := s.server.Kanban.Here(c.Request().Context(), who)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(c.Request().Context()))
	if o.updates, err = s.server.Kanban.Watch(ctx, who, place); err != nil {
		stop()
		return err
	}
	o.stop = stop
	go o.run(ctx)
	return nil
}

// leave gives a seat back; with the last reader the showing ends.
func (s *showings) leave(o *opened, one *seat) {
	o.seats.remove(one)
	s.mu.Lock()
	defer s.mu.Unlock()
	o.readers--
	if o.readers > 0 {
		return
	}
	o.stop()
	if s.open[o.picture] == o {
		delete(s.open, o.picture)
	}
}

// forget takes a showing that has ended out of the way of those who come next.
func (s *showings) forget(o *opened) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[o.picture] == o {
		delete(s.open, o.picture)
	}
}
