package live

import (
	"context"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
)

// Show answers with the stream of changes of one page. ?on= says of which.
func (h *Hub) Show(c echo.Context, who tenancy.Principal) error {
	return Serve(h.streams, c, who, func() (Feed[message], func(), error) {
		f := &connection{hub: h, c: c, who: who, after: Place(c)}
		if _, err := eventlog.ParseCursor(f.after); err != nil {
			return nil, nil, err
		}
		var err error
		if f.stream, f.subscriber, err = h.join(c, who); err != nil {
			return nil, nil, err
		}
		return f, func() { h.leave(f.stream, f.subscriber) }, nil
	})
}

// connection hands the messages of a stream to one reader.
type connection struct {
	hub        *Hub
	c          echo.Context
	who        tenancy.Principal
	out        *Writer
	stream     *sharedStream
	subscriber *subscriber

	after   string // where the reader was when it came
	pending string // place that the reader does not know yet, "" for none
}

// Begin shows what has changed since the reader's place, and how the coordinator is, which has no
// place in the log. Since it subscribed the stream sends everything, so nothing falls between the two.
func (f *connection) Begin(ctx context.Context, out *Writer) error {
	f.out = out
	err := f.catchUp(ctx)
	return f.send(ctx, []templ.Component{layout.LiveHealth(f.hub.site.Health(ctx))}, err)
}

func (f *connection) catchUp(ctx context.Context) error {
	u, err := f.hub.site.Screens.CatchUp(ctx, f.who, f.after)
	if err != nil {
		return err
	}
	if u == nil {
		return f.showNews(ctx)
	}
	if u.Reset {
		return f.startOver(ctx)
	}
	view, err := f.hub.open(f.c, f.who, *u.Fleet)
	if err != nil {
		return err
	}
	n, err := view.Change(ctx, u)
	if err != nil {
		return err
	}
	n.frame(u)
	message, err := n.message(ctx, u.Cursor)
	if err != nil {
		return err
	}
	if message == nil {
		f.pending = u.Cursor
	} else if err := f.out.send(message); err != nil {
		return err
	}
	if !n.Later {
		return f.showNews(ctx)
	}
	return f.refresh(ctx, view)
}

// showNews shows what a view listens to, which has no place in the board's log.
func (f *connection) showNews(ctx context.Context) error {
	l, listens := f.stream.view.(Listener)
	if !listens {
		return nil
	}
	parts, err := l.Heard(ctx)
	return f.send(ctx, parts, err)
}

// startOver is catchUp where too much was missed to send one after another. A page
// that does not fetch itself again, such as one that counts, gets it all the same.
func (f *connection) startOver(ctx context.Context) error {
	if err := f.reset(ctx); err != nil {
		return err
	}
	snap, err := f.hub.site.Fleet.Snapshot(ctx, f.who)
	if err != nil {
		return err
	}
	view, err := f.hub.open(f.c, f.who, snap)
	if err != nil {
		return err
	}
	parts, err := view.Refresh(ctx)
	return f.send(ctx, append(parts, layout.LiveStop(web.FleetModel(snap).Stop)), err)
}

func (f *connection) refresh(ctx context.Context, view View) error {
	parts, err := view.Refresh(ctx)
	return f.send(ctx, parts, err)
}

// send sends parts that were made without err.
func (f *connection) send(ctx context.Context, parts []templ.Component, err error) error {
	if err != nil || len(parts) == 0 {
		return err
	}
	return f.out.Parts(ctx, "", parts)
}

// C returns the queue of the reader.
func (f *connection) C() <-chan message { return f.subscriber.queue }

// Take sends a message, also one that Begin has covered: the messages after it
// build on it. A reader whose queue overran fetches its page again.
func (f *connection) Take(ctx context.Context, m message, ok bool) (more bool, err error) {
	switch {
	case !ok && !f.subscriber.late:
		return false, nil
	case !ok:
		return true, f.reset(ctx)
	}
	if m.cursor != "" {
		f.pending = m.cursor
	}
	if m.text == nil {
		return true, nil
	}
	if m.cursor != "" {
		f.pending = ""
	}
	return true, f.out.send(m.text)
}

// Beat keeps the connection open.
func (f *connection) Beat(context.Context) error {
	if f.pending == "" {
		return f.out.Comment()
	}
	cursor := f.pending
	f.pending = ""
	return f.out.place(cursor)
}

// reset lets the page fetch itself again, for too much was missed, and goes on
// from the place that it will then show.
func (f *connection) reset(ctx context.Context) error {
	if !f.stream.subscribers.add(f.subscriber) {
		return nil
	}
	place, err := f.hub.site.Screens.Cursor(ctx, f.who)
	if err != nil {
		return err
	}
	f.pending = ""
	return f.out.send(namedMessage("reset", place))
}
