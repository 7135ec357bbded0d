// Package agents is the page of factories and agents, and what people do to them.
package agents

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/agents"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
)

type site struct{ *web.Site }

// New declares the page.
func New(s *web.Site) web.Page[view.Agents] {
	p := site{s}
	return web.Page[view.Agents]{
		Site: s, Path: links.Agents, Need: tenancy.ReadBoard, Section: layout.SectionAgents, Title: "Agents",
		Read: p.read, View: view.View,
		Live: web.Live[view.Agents]{
			View:    view.Live,
			Changes: func(u *screens.Update) bool { return u.Fleet != nil || len(u.Changed) > 0 },
			Ages:    true, // heartbeats grow old without an event
		},
		Actions: []web.Route{
			web.Get(links.AgentPanel, tenancy.ReadBoard, p.panel),
			web.Post("/factories/:name/drain", tenancy.RunFleet, p.factoryDrain),
			web.Post("/factories/:name/undrain", tenancy.RunFleet, p.factoryUndrain),
			web.Post("/factories/:name/remove", tenancy.RunFleet, p.factoryRemove),
			web.Post("/agents/:name/terminate", tenancy.RunFleet, p.agentTerminate),
			web.Post("/agents/:name/cut-off", tenancy.RunFleet, p.agentCutOff),
		},
	}
}

func (s site) read(ctx context.Context, r web.Request) (view.Agents, error) {
	leased, err := s.Screens.Leased(ctx, r.Who)
	return pageData{snap: r.Fleet, leased: leased, canRun: r.Who.Can(tenancy.RunFleet), firstRun: s.FirstRun(ctx, r),
		filter: parseFilter(r.Query)}.model(), err
}

// panel answers with the live part of the page.
func (s site) panel(c echo.Context, who tenancy.Principal) error {
	snap, err := s.Fleet.Snapshot(c.Request().Context(), who)
	if err != nil {
		return err
	}
	m, err := s.read(c.Request().Context(), s.Request(c, who, snap))
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.Live(m))
}
