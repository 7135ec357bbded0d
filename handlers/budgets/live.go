package budgets

import (
	"context"
	"net/url"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/budgets"
	"github.com/fleetboard/fleetboard/views/links"
)

// livePage is the page of budgets among the live pages.
type livePage struct{ pages *Pages }

// Name is what ?on= calls it.
func (livePage) Name() string { return "budgets" }

// Shows reports whether an address is one of the page's.
func (livePage) Shows(at *url.URL) bool { return at.Path == links.Budgets }

// Key is what the address asks for, for each role.
func (livePage) Key(q url.Values, who tenancy.Principal) string { return live.KeyByRole(q, who) }

// Open makes the live part of the page.
func (p livePage) Open(c echo.Context, who tenancy.Principal, _ fleet.Snapshot) (live.View, error) {
	return &liveBudgets{pages: p.pages, who: who, chosen: c.QueryParam("budget")}, nil
}

// Parts show the page as it is now.
func (p livePage) Parts(c echo.Context, who tenancy.Principal, at *url.URL, _ live.Act) ([]templ.Component, error) {
	return (&liveBudgets{pages: p.pages, who: who, chosen: at.Query().Get("budget")}).Refresh(c.Request().Context())
}

// liveBudgets is the page of budgets.
type liveBudgets struct {
	pages  *Pages
	who    tenancy.Principal
	chosen string
}

// Change has the page read again: agents that work spend.
func (r *liveBudgets) Change(_ context.Context, u *screens.Update) (live.Update, error) {
	return live.Update{Later: u.Fleet != nil || len(u.Changed) > 0}, nil
}

// Refresh reads the page again.
func (r *liveBudgets) Refresh(ctx context.Context) ([]templ.Component, error) {
	m, err := r.pages.read(ctx, r.who, r.chosen)
	return []templ.Component{view.Live(m)}, err
}

// Ages is true: usage makes no event of its own.
func (r *liveBudgets) Ages() bool { return true }
