package handlers

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"fleetboard/internal/eventlog"
	"fleetboard/internal/tenancy"
)

// The clocks of a stream.
const (
	heartbeatEvery = 15 * time.Second
	// sessionEvery is how soon a stream ends after its session or its role has.
	sessionEvery = 5 * time.Second
	// oldest is when a stream ends and the page connects again, give or take a
	// fifth so that they do not all come at once.
	oldest = 20 * time.Minute
	// gap is the least time between two messages of a log; the board's feed has a
	// pace of its own.
	gap = 150 * time.Millisecond
)

// live is the stream of changes of one page. ?on= says of which: board, job,
// agents, review or timeline.
func (s *Server) live(limit *streamLimit) func(echo.Context, tenancy.Principal) error {
	all := &showings{server: s, open: map[string]*opened{}}
	return func(c echo.Context, who tenancy.Principal) error {
		leave, ok := limit.enter(who.Account)
		if !ok {
			c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(int(heartbeatEvery/time.Second)))
			return c.String(http.StatusServiceUnavailable, "Too many live pages are open.\n")
		}
		defer leave()
		ctx := c.Request().Context()
		w := &watcher{server: s, who: who, after: placeOfReader(c)}
		if _, err := eventlog.ParseCursor(w.after); err != nil {
			return err
		}
		var err error
		if w.showing, w.seat, err = all.join(c, who); err != nil {
			return err
		}
		defer all.leave(w.showing, w.seat)
		changed, stop := s.membersNews(who)
		defer stop()
		w.out, err = openStream(c)
		defer w.out.end()
		if err == nil {
			err = w.catchUp(c)
		}
		if err == nil {
			err = w.run(ctx, changed, func() bool { return s.Web.StillIn(c, who) })
		}
		if ctx.Err() != nil {
			return nil // the reader has gone; there is nobody to tell
		}
		return err
	}
}

// placeOfReader is where in the log the reader is: where its last connection
// ended, else where its page was made.
func placeOfReader(c echo.Context) string {
	if id := c.Request().Header.Get("Last-Event-ID"); id != "" {
		return id
	}
	return c.QueryParam("after")
}

// membersNews tells of changes of the workspace's members, so that a stream need
// not wait for the next look. stop ends that.
func (s *Server) membersNews(who tenancy.Principal) (news <-chan struct{}, stop func()) {
	changed := make(chan struct{}, 1)
	return changed, s.Accounts.OnMembers(who.Workspace, func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
}

// watcher hands the messages of a showing to one reader.
type watcher struct {
	server  *Server
	who     tenancy.Principal
	out     *eventStream
	showing *opened
	seat    *seat

	after  string // where the reader was when it came
	untold string // place that the reader does not know yet, "" for none
}

// catchUp shows what has changed since the reader's place. From the seat on the
// showing tells everything, so that nothing falls between the two.
func (w *watcher) catchUp(c echo.Context) error {
	ctx := c.Request().Context()
	u, err := w.server.Kanban.Missed(ctx, w.who, w.after)
	if err != nil || u == nil {
		return err
	}
	if u.Reset {
		return w.startOver(c)
	}
	region, err := w.server.regionOf(c, w.who, *u.Fleet)
	if err != nil {
		return err
	}
	n, err := region.change(ctx, u)
	if err != nil {
		return err
	}
	n.around(u)
	message, err := n.message(ctx, u.Cursor)
	if err != nil {
		return err
	}
	if message == nil {
		w.untold = u.Cursor
	} else if err := w.out.send(message); err != nil {
		return err
	}
	if !n.later {
		return nil
	}
	return w.refresh(ctx, region)
}

// startOver is catchUp where too much was missed to tell one after another. A page
// that does not fetch itself again, such as one that counts, is told all the same.
func (w *watcher) startOver(c echo.Context) error {
	ctx := c.Request().Context()
	if err := w.reset(ctx); err != nil {
		return err
	}
	snap, err := w.server.Fleet.Snapshot(ctx, w.who)
	if err != nil {
		return err
	}
	region, err := w.server.regionOf(c, w.who, snap)
	if err != nil {
		return err
	}
	return w.refresh(ctx, region)
}

func (w *watcher) refresh(ctx context.Context, region region) error {
	parts, err := region.refresh(ctx)
	if err != nil || len(parts) == 0 {
		return err
	}
	return w.out.parts(ctx, "", parts)
}

// run sends until the reader, the session, the server or the stream's time ends.
func (w *watcher) run(ctx context.Context, members <-chan struct{}, stillIn func() bool) error {
	beat, check := time.NewTicker(heartbeatEvery), time.NewTicker(sessionEvery)
	defer beat.Stop()
	defer check.Stop()
	age := time.NewTimer(time.Duration(float64(oldest) * (0.8 + 0.4*rand.Float64())))
	defer age.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-w.server.Done:
			return nil
		case <-age.C:
			return nil
		case <-members:
			if !stillIn() {
				return nil
			}
		case <-check.C:
			if !stillIn() {
				return nil
			}
		case <-beat.C:
			err = w.beat()
		case b, ok := <-w.seat.bulletins:
			if !ok && !w.seat.late {
				return nil
			}
			if !ok {
				err = w.reset(ctx)
			} else {
				err = w.tell(b)
			}
		}
		if err != nil {
			return err
		}
	}
}

// tell sends a message, also one that the catch-up has covered: the messages
// after it build on it.
func (w *watcher) tell(b bulletin) error {
	if b.cursor != "" {
		w.untold = b.cursor
	}
	if b.message == nil {
		return nil
	}
	if b.cursor != "" {
		w.untold = ""
	}
	return w.out.send(b.message)
}

// beat keeps the connection open.
func (w *watcher) beat() error {
	if w.untold == "" {
		return w.out.comment()
	}
	cursor := w.untold
	w.untold = ""
	return w.out.place(cursor)
}

// reset lets the page fetch itself again, for too much was missed, and goes on
// from the place that it will then show.
func (w *watcher) reset(ctx context.Context) error {
	if !w.showing.seats.add(w.seat) {
		return nil
	}
	place, err := w.server.Kanban.Here(ctx, w.who)
	if err != nil {
		return err
	}
	w.untold = ""
	return w.out.send(namedMessage("reset", place))
}
