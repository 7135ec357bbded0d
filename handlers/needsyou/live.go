package needsyou

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
	view "github.com/fleetboard/fleetboard/views/needsyou"
)

// livePage is the page among the live pages.
type livePage struct{ pages *Pages }

// Name is what ?on= calls it.
func (livePage) Name() string { return "needs-you" }

// Shows reports whether an address is one of the page's.
func (livePage) Shows(at *url.URL) bool { return at.Path == links.NeedsYou }

// Key is the role: all of one role see the same.
func (livePage) Key(q url.Values, who tenancy.Principal) string { return live.KeyByRole(q, who) }

// Open makes the live part of the page.
func (p livePage) Open(_ echo.Context, who tenancy.Principal, _ fleet.Snapshot) (live.View, error) {
	return &liveNeeds{pages: p.pages, who: who}, nil
}

// Parts show the page as it is now.
func (p livePage) Parts(c echo.Context, who tenancy.Principal, _ *url.URL, _ live.Act) ([]templ.Component, error) {
	return p.pages.parts(c.Request().Context(), who)
}

// liveNeeds is the live part of the page.
type liveNeeds struct {
	pages *Pages
	who   tenancy.Principal
}

// Change has the list read again soon where it may be another now.
func (r *liveNeeds) Change(_ context.Context, u *screens.Update) (live.Update, error) {
	return live.Update{Later: u.Needs != nil || len(u.Changed) > 0}, nil
}

// Refresh reads the page again.
func (r *liveNeeds) Refresh(ctx context.Context) ([]templ.Component, error) {
	return r.pages.parts(ctx, r.who)
}

// Ages is false: the browser keeps the ages fresh by itself.
func (r *liveNeeds) Ages() bool { return false }

// parts are the live parts of the page.
func (p *Pages) parts(ctx context.Context, who tenancy.Principal) ([]templ.Component, error) {
	page, err := p.Screens.NeedsPage(ctx, who)
	return []templ.Component{view.Live(model(page, who))}, err
}
