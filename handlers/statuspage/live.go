package statuspage

import (
	"context"
	"net/url"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/statuspage"
)

// livePage is the page of the coordinator among the live pages.
type livePage struct{ pages *Pages }

// Name is what ?on= calls it.
func (livePage) Name() string { return "status" }

// Shows reports whether an address is one of the page's.
func (livePage) Shows(at *url.URL) bool { return at.Path == links.Status }

// Key is what the address asks for, for each role.
func (livePage) Key(q url.Values, who tenancy.Principal) string { return live.KeyByRole(q, who) }

// Open makes the live part of the page.
func (p livePage) Open(c echo.Context, who tenancy.Principal, _ fleet.Snapshot) (live.View, error) {
	before, err := parseBefore(c.QueryParams())
	return &liveStatus{pages: p.pages, who: who, before: before}, err
}

// Parts show the page as it is now.
func (p livePage) Parts(c echo.Context, who tenancy.Principal, at *url.URL, _ live.Act) ([]templ.Component, error) {
	before, err := parseBefore(at.Query())
	if err != nil {
		return nil, err
	}
	return (&liveStatus{pages: p.pages, who: who, before: before}).Refresh(c.Request().Context())
}

// liveStatus is the page of the coordinator.
type liveStatus struct {
	pages  *Pages
	who    tenancy.Principal
	before int64
}

// Change has the page read again where the fleet is another one.
func (r *liveStatus) Change(_ context.Context, u *screens.Update) (live.Update, error) {
	return live.Update{Later: u.Fleet != nil}, nil
}

// Refresh reads the page again.
func (r *liveStatus) Refresh(ctx context.Context) ([]templ.Component, error) {
	snap, err := r.pages.Fleet.Snapshot(ctx, r.who)
	if err != nil {
		return nil, err
	}
	sheet, err := r.pages.read(ctx, r.who, snap, r.before)
	return []templ.Component{view.Live(sheet.model())}, err
}

// Ages is true: the coordinator makes no events.
func (r *liveStatus) Ages() bool { return true }
