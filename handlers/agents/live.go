package agents

import (
	"context"
	"net/url"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/agents"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// livePage is the page of agents among the live pages.
type livePage struct{ pages *Pages }

// Name is what ?on= calls it.
func (livePage) Name() string { return "agents" }

// Shows reports whether an address is one of the page's.
func (livePage) Shows(at *url.URL) bool { return at.Path == links.Agents }

// Key is what the address asks for, for each role.
func (livePage) Key(q url.Values, who tenancy.Principal) string { return live.KeyByRole(q, who) }

// Open makes the live part of the page.
func (p livePage) Open(c echo.Context, who tenancy.Principal, snap fleet.Snapshot) (live.View, error) {
	return &liveAgents{pages: p.pages, who: who, filter: parseFilter(c.QueryParams()), first: p.pages.Web.FirstRun(c, who, snap)}, nil
}

// Parts show the page as it is now.
func (p livePage) Parts(c echo.Context, who tenancy.Principal, at *url.URL, _ live.Act) ([]templ.Component, error) {
	m, err := p.pages.now(c, who, parseFilter(at.Query()))
	return []templ.Component{view.Live(m)}, err
}

// liveAgents is the page of agents.
type liveAgents struct {
	pages  *Pages
	who    tenancy.Principal
	first  ui.FirstRun
	filter links.AgentsFilter
}

// Change sends what a change of the board changes on the page.
func (r *liveAgents) Change(_ context.Context, u *screens.Update) (live.Update, error) {
	return live.Update{Later: u.Fleet != nil || len(u.Changed) > 0}, nil
}

// Refresh reads the page again.
func (r *liveAgents) Refresh(ctx context.Context) ([]templ.Component, error) {
	snap, err := r.pages.Fleet.Snapshot(ctx, r.who)
	if err != nil {
		return nil, err
	}
	m, err := r.pages.read(ctx, r.who, snap, r.first, r.filter)
	return []templ.Component{view.Live(m)}, err
}

// Ages is true: heartbeats grow old without an event.
func (r *liveAgents) Ages() bool { return true }
