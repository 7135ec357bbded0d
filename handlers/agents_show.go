package handlers

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/fleet"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
	"fleetboard/views/links"
)

// agentsShow is the page of factories and agents.
func (s *Server) agentsShow(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	around, err := s.Kanban.Surroundings(ctx, who)
	if err != nil {
		return err
	}
	shell, err := s.Web.Page(c, who, around.Fleet, views.SectionAgents, "Agents")
	if err != nil {
		return err
	}
	shell.LiveURL = links.LiveAgents(around.Cursor)
	m, err := s.agentsOf(ctx, who, around.Fleet, s.Web.FirstRun(c, who, around.Fleet))
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, views.AgentsView(views.AgentsPage{Shell: shell, Agents: m}))
}

// agentsPanel is the live part of the page.
func (s *Server) agentsPanel(c echo.Context, who tenancy.Principal) error {
	m, err := s.agentsNow(c, who)
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, views.LiveAgents(m))
}

func (s *Server) agentsNow(c echo.Context, who tenancy.Principal) (views.Agents, error) {
	snap, err := s.Fleet.Snapshot(c.Request().Context(), who)
	if err != nil {
		return views.Agents{}, err
	}
	return s.agentsOf(c.Request().Context(), who, snap, s.Web.FirstRun(c, who, snap))
}

func (s *Server) agentsOf(ctx context.Context, who tenancy.Principal, snap fleet.Snapshot, first views.FirstRun) (views.Agents, error) {
	leased, err := s.Kanban.Leased(ctx, who)
	sheet := agentsSheet{snap: snap, leased: leased, canRun: who.Can(tenancy.RunFleet), firstRun: first}
	return sheet.model(), err
}
