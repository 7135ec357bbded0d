package handlers

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"fleetboard/internal/fault"
	"fleetboard/internal/kanban"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
)

// The clocks of a stream.
const (
	heartbeatEvery = 15 * time.Second
	// sessionEvery is how soon a stream ends after its session or its role has.
	sessionEvery = 5 * time.Second
	// oldest is when a stream ends and the page connects again, give or take a
	// fifth so that they do not all come at once.
	oldest = 20 * time.Minute
	// gap is the least time between two messages; what comes between goes
	// together.
	gap = 150 * time.Millisecond
	// settle is how long the consequences of a change, such as every reason that
	// names a free seat, are gathered before they are read again.
	settle = time.Second
)

// live is the stream of changes of one page. ?on= says of which: board, job,
// agents, review or timeline.
func (s *Server) live(limit *streamLimit) func(echo.Context, tenancy.Principal) error {
	return func(c echo.Context, who tenancy.Principal) error {
		leave, ok := limit.enter(who.Account)
		if !ok {
			c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(int(heartbeatEvery/time.Second)))
			return c.String(http.StatusServiceUnavailable, "Too many live pages are open.\n")
		}
		defer leave()
		ctx, cancel := context.WithCancel(c.Request().Context())
		defer cancel()
		w, err := s.newWatcher(c, who)
		if err != nil {
			return err
		}
		if w.updates, err = s.Kanban.Watch(ctx, who, placeOfReader(c)); err != nil {
			return err
		}
		changed, stop := s.membersNews(who)
		defer stop()
		if w.out, err = openStream(c); err == nil {
			err = w.run(ctx, changed, func() bool { return s.stillIn(c, who) })
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

// stillIn reports whether the session lasts and the role is the same. A database
// that cannot be asked ends no stream.
func (s *Server) stillIn(c echo.Context, who tenancy.Principal) bool {
	now, err := s.person(c)
	if err != nil {
		return !fault.Is(err, fault.Unauthenticated)
	}
	return now.Account == who.Account && now.Workspace == who.Workspace && now.Role == who.Role
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

// watcher feeds one page.
type watcher struct {
	server  *Server
	who     tenancy.Principal
	region  region
	out     *eventStream
	updates <-chan *kanban.Update

	fleet   views.Fleet   // as the sidebar shows it
	pending kanban.Update // gathered and not sent yet
	waiting bool          // there is something in pending
	cursor  string        // place that the reader does not know yet, "" for none
	next    <-chan time.Time
	later   <-chan time.Time
}

func (s *Server) newWatcher(c echo.Context, who tenancy.Principal) (*watcher, error) {
	snap, err := s.Fleet.Snapshot(c.Request().Context(), who)
	if err != nil {
		return nil, err
	}
	w := &watcher{server: s, who: who, fleet: fleetModel(snap)}
	w.region, err = s.regionOf(c, who, snap)
	return w, err
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
			err = w.beat(ctx)
		case <-w.later:
			w.later = nil
			err = w.refresh(ctx)
		case <-w.next:
			w.next = nil
			err = w.send(ctx)
		case u, ok := <-w.updates:
			if !ok {
				return nil
			}
			err = w.take(ctx, u)
		}
		if err != nil {
			return err
		}
	}
}

// take gathers an update, and sends it where the last message is long enough
// ago.
func (w *watcher) take(ctx context.Context, u *kanban.Update) error {
	if u.Reset {
		return w.reset(ctx)
	}
	merge(&w.pending, u)
	w.waiting = true
	if w.next != nil {
		return nil
	}
	return w.send(ctx)
}

// send shows what was gathered.
func (w *watcher) send(ctx context.Context) error {
	if !w.waiting {
		return nil
	}
	u := w.pending
	w.pending, w.waiting = kanban.Update{}, false
	w.next = time.After(gap)
	n, err := w.region.change(ctx, &u)
	if err != nil {
		return err
	}
	if u.Fleet != nil {
		w.fleet = fleetModel(*u.Fleet)
		n.parts = append(n.parts, views.LiveFleet(w.fleet))
	}
	nav, err := w.server.navNews(ctx, w.who, &u)
	if err != nil {
		return err
	}
	n.parts = append(n.parts, nav...)
	if n.later && w.later == nil {
		w.later = time.After(settle)
	}
	if u.Cursor != "" {
		w.cursor = u.Cursor
	}
	if n.reset {
		return w.out.named("reset", w.takeCursor())
	}
	if len(n.parts) == 0 {
		return nil
	}
	return w.out.parts(ctx, w.takeCursor(), n.parts)
}

// takeCursor is the place to tell the reader with the next message.
func (w *watcher) takeCursor() string {
	cursor := w.cursor
	w.cursor = ""
	return cursor
}

func (w *watcher) refresh(ctx context.Context) error {
	parts, err := w.region.refresh(ctx)
	if err != nil || len(parts) == 0 {
		return err
	}
	return w.out.parts(ctx, "", parts)
}

// beat looks for what changes without an event, such as an agent that has gone
// silent, and keeps the connection open.
func (w *watcher) beat(ctx context.Context) error {
	snap, err := w.server.Fleet.Snapshot(ctx, w.who)
	if err != nil {
		return err
	}
	if !sameFleet(w.fleet, fleetModel(snap)) {
		return w.take(ctx, &kanban.Update{Fleet: &snap})
	}
	if w.region.ages() {
		return w.refresh(ctx)
	}
	if cursor := w.takeCursor(); cursor != "" {
		return w.out.place(cursor)
	}
	return w.out.comment()
}

// reset lets the page fetch itself again, for too much was missed, and goes on
// from the place that it will then show.
func (w *watcher) reset(ctx context.Context) error {
	around, err := w.server.Kanban.Surroundings(ctx, w.who)
	if err != nil {
		return err
	}
	w.pending, w.waiting, w.cursor = kanban.Update{}, false, ""
	if w.updates, err = w.server.Kanban.Watch(ctx, w.who, around.Cursor); err != nil {
		return err
	}
	if w.later == nil {
		w.later = time.After(settle)
	}
	return w.out.named("reset", around.Cursor)
}
