package timeline

import (
	"context"
	"net/url"
	"strconv"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/timeline"
)

// maxNew is where the timeline ends to count what is new.
const maxNew = 100

// livePage is the timeline among the live pages.
type livePage struct{ pages *Pages }

// Name returns what ?on= calls it.
func (livePage) Name() string { return "timeline" }

// Shows reports whether an address is one of the page's.
func (livePage) Shows(at *url.URL) bool { return at.Path == links.Timeline }

// Key is of one reader alone: the count begins with its own page.
func (livePage) Key(url.Values, tenancy.Principal) string { return ids.New().String() }

// Open makes the live part of the page.
func (p livePage) Open(c echo.Context, who tenancy.Principal, _ fleet.Snapshot) (live.View, error) {
	filter, err := parseTimeline(c.QueryParams())
	if err != nil {
		return nil, err
	}
	r := &liveTimeline{pages: p.pages, who: who, filter: filter}
	// Not where the reader's last connection ended: the button counts from the page on.
	if r.place, err = eventlog.ParseCursor(c.QueryParam("after")); err != nil {
		return nil, err
	}
	r.log, _, err = p.pages.logFilter(c.Request().Context(), who, r.filter)
	return r, err
}

// Parts are none: the timeline shows no job as it is now.
func (livePage) Parts(echo.Context, tenancy.Principal, *url.URL, live.Act) ([]templ.Component, error) {
	return nil, nil
}

// liveTimeline counts what passes the filter of a page and has happened since
// the page was made. It never moves what the page shows.
type liveTimeline struct {
	pages  *Pages
	who    tenancy.Principal
	filter links.TimelineFilter
	log    eventlog.Filter

	place eventlog.Cursor // counted up to here
	count int
}

// Change sends what a change of the board changes on the page.
func (r *liveTimeline) Change(_ context.Context, u *screens.Update) (live.Update, error) {
	return live.Update{Later: u.Cursor != ""}, nil
}

// Refresh counts on from where it was.
func (r *liveTimeline) Refresh(ctx context.Context) ([]templ.Component, error) {
	if r.count >= maxNew {
		return nil, nil
	}
	events, place, err := r.pages.Events.TailFiltered(ctx, r.who, r.log, r.place, maxNew)
	if err != nil || len(events) == 0 {
		r.place = place
		return nil, err
	}
	r.place, r.count = place, r.count+len(events)
	return []templ.Component{view.LiveNewEvents(newText(r.count), links.TimelineWith(r.filter))}, nil
}

// newText is "12 new events".
func newText(n int) string {
	if n >= maxNew {
		return strconv.Itoa(maxNew-1) + "+ new events"
	}
	return web.Plural(n, "new event", "new events")
}

// Ages is false: nothing of it grows old.
func (r *liveTimeline) Ages() bool { return false }
