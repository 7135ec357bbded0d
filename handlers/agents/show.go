package agents

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/agents"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// show is the page of factories and agents.
func (p *Pages) show(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	around, err := p.Screens.PageContext(ctx, who)
	if err != nil {
		return err
	}
	shell, err := p.Web.Page(c, who, around.Fleet, layout.SectionAgents, "Agents")
	if err != nil {
		return err
	}
	filter := parseFilter(c.QueryParams())
	shell.LiveURL = links.LiveAgents(around.Cursor, filter)
	m, err := p.read(ctx, who, around.Fleet, p.Web.FirstRun(c, who, around.Fleet), filter)
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.View(view.Page{Shell: shell, Agents: m}))
}

// panel is the live part of the page.
func (p *Pages) panel(c echo.Context, who tenancy.Principal) error {
	m, err := p.now(c, who, parseFilter(c.QueryParams()))
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.Live(m))
}

func (p *Pages) now(c echo.Context, who tenancy.Principal, f links.AgentsFilter) (view.Agents, error) {
	snap, err := p.Fleet.Snapshot(c.Request().Context(), who)
	if err != nil {
		return view.Agents{}, err
	}
	return p.read(c.Request().Context(), who, snap, p.Web.FirstRun(c, who, snap), f)
}

func (p *Pages) read(ctx context.Context, who tenancy.Principal, snap fleet.Snapshot, first ui.FirstRun, f links.AgentsFilter) (
	view.Agents, error,
) {
	leased, err := p.Screens.Leased(ctx, who)
	sheet := pageData{snap: snap, leased: leased, canRun: who.Can(tenancy.RunFleet), firstRun: first, filter: f}
	return sheet.model(), err
}
