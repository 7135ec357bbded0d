package live

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Hub runs the streams that somebody reads, one for all readers who see the same.
type Hub struct {
	// Settle is how long the consequences of a change are gathered before views
	// are refreshed.
	Settle time.Duration

	site    *web.Site
	pages   *Registry
	streams *Streams

	mu     sync.Mutex
	shared map[string]*sharedStream
}

// NewHub returns the hub of these pages.
func NewHub(s *web.Site, pages *Registry) *Hub {
	return &Hub{Settle: settle, site: s, pages: pages, streams: NewStreams(s), shared: map[string]*sharedStream{}}
}

// sharedStream is a stream and how many read it.
type sharedStream struct {
	stream
	key     string
	readers int // guarded by Hub.mu
	stop    context.CancelFunc
	made    chan struct{} // closed when the stream runs, or err says why not
	err     error
}

// streamKey names what a reader sees: whoever has the same key sees the same.
func (h *Hub) streamKey(c echo.Context, who tenancy.Principal) (string, error) {
	page, err := h.pages.named(c.QueryParam("on"))
	if err != nil {
		return "", err
	}
	return strings.Join([]string{who.Workspace.String(), c.Scheme(), c.Request().Host, page.Name(),
		page.Key(c.QueryParams(), who)}, " "), nil
}

// open makes the view that a request selects.
func (h *Hub) open(c echo.Context, who tenancy.Principal, snap fleet.Snapshot) (View, error) {
	page, err := h.pages.named(c.QueryParam("on"))
	if err != nil {
		return nil, err
	}
	return page.Open(c, who, snap)
}

// join subscribes a reader to what the request selects. Until leave, all that
// changes from now on comes into its queue.
func (h *Hub) join(c echo.Context, who tenancy.Principal) (*sharedStream, *subscriber, error) {
	key, err := h.streamKey(c, who)
	if err != nil {
		return nil, nil, err
	}
	for {
		o, first := h.enter(key)
		if first {
			if o.err = h.begin(o, c, who); o.err != nil {
				o.subscribers.end()
			}
			close(o.made)
		}
		select {
		case <-o.made:
		case <-c.Request().Context().Done():
			h.leave(o, nil)
			return nil, nil, c.Request().Context().Err()
		}
		one := &subscriber{}
		if o.subscribers.add(one) {
			if v, starts := o.view.(Starter); starts {
				v.Join()
			}
			return o, one, nil
		}
		h.leave(o, nil)
		h.forget(o)
		if first && o.err != nil {
			return nil, nil, o.err
		}
		// Another one could not begin it, or it has just ended: begin anew.
	}
}

func (h *Hub) enter(key string) (o *sharedStream, first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o = h.shared[key]; o == nil {
		o, first = &sharedStream{key: key, made: make(chan struct{}), stop: func() {}}, true
		o.hub, o.subscribers.list = h, map[*subscriber]bool{}
		h.shared[key] = o
	}
	o.readers++
	return o, first
}

// begin makes the view with the first reader's request and lets it run.
func (h *Hub) begin(o *sharedStream, c echo.Context, who tenancy.Principal) error {
	snap, err := h.site.Fleet.Snapshot(c.Request().Context(), who)
	if err != nil {
		return err
	}
	o.who, o.fleet, o.health = who, web.FleetModel(snap), h.site.Health(c.Request().Context())
	if o.view, err = h.open(c, who, snap); err != nil {
		return err
	}
	place, err := o.start(c.Request().Context())
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(c.Request().Context()))
	if o.updates, err = h.site.Screens.Watch(ctx, who, place); err != nil {
		stop()
		return err
	}
	o.stop = stop
	if l, listens := o.view.(Listener); listens {
		var unheard func()
		o.changed, unheard = l.Listen()
		o.stop = func() { stop(); unheard() }
	}
	go o.run(ctx)
	return nil
}

// leave ends a subscription; with the last reader the stream ends.
func (h *Hub) leave(o *sharedStream, one *subscriber) {
	o.subscribers.remove(one)
	h.mu.Lock()
	defer h.mu.Unlock()
	o.readers--
	if o.readers > 0 {
		return
	}
	o.stop()
	if h.shared[o.key] == o {
		delete(h.shared, o.key)
	}
}

// forget takes a stream that has ended out of the way of those who come next.
func (h *Hub) forget(o *sharedStream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shared[o.key] == o {
		delete(h.shared, o.key)
	}
}
