package handlers

import (
	"context"
	"strconv"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/kanban"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
	"fleetboard/views/links"
)

// maxNew is where the timeline ends to count what is new.
const maxNew = 100

// liveTimeline counts what passes the filter of a page and has happened since
// the page was made. It never moves what the page shows.
type liveTimeline struct {
	server *Server
	who    tenancy.Principal
	filter links.TimelineFilter
	log    eventlog.Filter

	place eventlog.Cursor // counted up to here
	count int
}

func (s *Server) newLiveTimeline(c echo.Context, who tenancy.Principal) (*liveTimeline, error) {
	r := &liveTimeline{server: s, who: who, filter: parseTimeline(c.QueryParams())}
	var err error
	// Not where the reader's last connection ended: the button counts from the page on.
	if r.place, err = eventlog.ParseCursor(c.QueryParam("after")); err != nil {
		return nil, err
	}
	r.log, err = s.logFilter(c.Request().Context(), who, r.filter)
	return r, err
}

func (r *liveTimeline) change(_ context.Context, u *kanban.Update) (news, error) {
	return news{later: u.Cursor != ""}, nil
}

// refresh counts on from where it was.
func (r *liveTimeline) refresh(ctx context.Context) ([]templ.Component, error) {
	if r.count >= maxNew {
		return nil, nil
	}
	events, place, err := r.server.Events.TailOf(ctx, r.who, r.log, r.place, maxNew)
	if err != nil || len(events) == 0 {
		r.place = place
		return nil, err
	}
	r.place, r.count = place, r.count+len(events)
	return []templ.Component{views.LiveTimelineNew(newText(r.count), links.TimelineWith(r.filter))}, nil
}

// newText is "12 new events".
func newText(n int) string {
	if n >= maxNew {
		return strconv.Itoa(maxNew-1) + "+ new events"
	}
	return web.Plural(n, "new event", "new events")
}

// ages is false: nothing of it grows old.
func (r *liveTimeline) ages() bool { return false }
