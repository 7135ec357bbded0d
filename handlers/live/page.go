package live

import (
	"context"
	"net/url"
	"slices"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Page is a kind of page with a live part.
type Page interface {
	// Name is what ?on= calls it.
	Name() string
	// Shows reports whether an address is one of the page's.
	Shows(at *url.URL) bool
	// Key names what a reader sees: readers of one workspace with the same key
	// share a stream.
	Key(query url.Values, who tenancy.Principal) string
	// Open makes the live part that a request selects.
	Open(c echo.Context, who tenancy.Principal, snap fleet.Snapshot) (View, error)
	// Parts show at an address what an action did to a job.
	Parts(c echo.Context, who tenancy.Principal, at *url.URL, act Act) ([]templ.Component, error)
}

// View is the live part of an open page.
type View interface {
	// Change gives the parts that a change of the board changes.
	Change(ctx context.Context, u *screens.Update) (Update, error)
	// Refresh reads again what follows from changes.
	Refresh(ctx context.Context) ([]templ.Component, error)
	// Ages reports whether the part is to be refreshed with each heartbeat.
	Ages() bool
}

// Starter is a View that notes what its readers have.
type Starter interface {
	View
	// Start is called when the stream begins, also anew after a Reset.
	Start(ctx context.Context) error
	// Join is called for each reader, beside other calls.
	Join()
}

// Listener is a View of more than the board shows.
type Listener interface {
	View
	Listen() (changed <-chan struct{}, stop func())
	// Heard gives the parts that show what it listens to. It is called after each change,
	// with each heartbeat, and once for each reader that comes, so it keeps nothing
	// between calls.
	Heard(ctx context.Context) ([]templ.Component, error)
}

// Update is what a change means for a page.
type Update struct {
	Parts []templ.Component
	Later bool // the view is to be refreshed soon
	Reset bool // the page is to fetch itself again
}

// Act is an action on a job.
type Act struct {
	Job jobs.Job // as it is now
	// From is the column that it was in, "" where that does not matter.
	From screens.Column
	// Refused is whether nothing was done, because the job was no longer what its
	// page showed, or was there already.
	Refused bool
	// Told is whether the stream of the page tells what was done. Only such pages look at it
	// whose streams tell at once.
	Told bool
}

// Registry holds the pages that have a live part.
type Registry struct{ pages []Page }

// Register adds pages. A request that htmx sent from none of them is taken for one
// of the first.
func (r *Registry) Register(pages ...Page) { r.pages = append(r.pages, pages...) }

// named returns the page that ?on= names. Fault: NotFound.
func (r *Registry) named(name string) (Page, error) {
	at := slices.IndexFunc(r.pages, func(p Page) bool { return p.Name() == name })
	if at < 0 {
		return nil, fault.New(fault.NotFound, "There is no such stream.")
	}
	return r.pages[at], nil
}

// Parts returns the parts of the page that htmx calls from which show what an action did.
func (r *Registry) Parts(c echo.Context, who tenancy.Principal, act Act) ([]templ.Component, error) {
	at, err := url.Parse(web.CurrentPath(c.Request()))
	if err != nil {
		at = &url.URL{}
	}
	for _, p := range r.pages {
		if p.Shows(at) {
			return p.Parts(c, who, at, act)
		}
	}
	return r.pages[0].Parts(c, who, at, act)
}

// KeyByRole returns the Key of a page that all of one role see alike. What a page counts
// from, its place in the log, makes no difference.
func KeyByRole(query url.Values, who tenancy.Principal) string {
	seen := url.Values{}
	for name, values := range query {
		if name != "after" {
			seen[name] = values
		}
	}
	return string(who.Role) + " " + seen.Encode()
}
