package handlers

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/examples"
	"github.com/fleetboard/fleetboard/handlers/agents"
	"github.com/fleetboard/fleetboard/handlers/blob"
	"github.com/fleetboard/fleetboard/handlers/board"
	"github.com/fleetboard/fleetboard/handlers/budgets"
	"github.com/fleetboard/fleetboard/handlers/job"
	"github.com/fleetboard/fleetboard/handlers/jobform"
	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/handlers/login"
	"github.com/fleetboard/fleetboard/handlers/messages"
	"github.com/fleetboard/fleetboard/handlers/needsyou"
	"github.com/fleetboard/fleetboard/handlers/palette"
	"github.com/fleetboard/fleetboard/handlers/pools"
	"github.com/fleetboard/fleetboard/handlers/prices"
	"github.com/fleetboard/fleetboard/handlers/reference"
	"github.com/fleetboard/fleetboard/handlers/review"
	"github.com/fleetboard/fleetboard/handlers/search"
	"github.com/fleetboard/fleetboard/handlers/settings"
	"github.com/fleetboard/fleetboard/handlers/statuspage"
	"github.com/fleetboard/fleetboard/handlers/stop"
	"github.com/fleetboard/fleetboard/handlers/timeline"
	"github.com/fleetboard/fleetboard/handlers/usage"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/static"
	"github.com/fleetboard/fleetboard/views/links"
)

// pages builds every page and joins their routes. A new page is one line here, and
// one more where it has a live part.
func (s *Server) pages() []web.Route {
	site := s.Site
	registry := &live.Registry{}
	s.Live = live.NewHub(site, registry)

	boards, events := board.New(site), timeline.New(site)
	jobPages := job.New(site, registry, live.NewStreams(site))
	reviews, agent, needs, status := review.New(site), agents.New(site), needsyou.New(site), statuspage.New(site)
	money, threads, stops, templates := budgets.New(site), messages.New(site), stop.New(site), pools.New(site)
	registry.Register(boards.Live(), jobPages.Live(), live.Simple(agent), live.Simple(reviews), events.Live(), live.Simple(needs),
		live.Simple(status), live.Simple(money), live.Simple(threads), live.Simple(stops), live.Simple(templates))

	return slices.Concat(
		[]web.Route{web.GetLong(links.LivePath, tenancy.ReadBoard, s.Live.Show),
			web.GetLong(links.Streams, tenancy.SignedIn, live.Multiplex)},
		boards.Routes(), jobPages.Routes(), reviews.Routes(), needs.Routes(), agent.Routes(), events.Routes(),
		jobform.New(site).Routes(),
		palette.New(site).Routes(), search.New(site).Routes(), usage.New(site).Routes(),
		status.Routes(), money.Routes(), threads.Routes(), blob.New(site).Routes(),
		prices.New(site).Routes(), stops.Routes(), templates.Routes(),
		login.New(site).Routes(),
		settings.New(site).Routes(), reference.Routes(),
	)
}

// routes are files, the streams, and what machines read about the server itself.
func (s *Server) routes() []web.Route {
	return []web.Route{
		web.Get(links.Home, tenancy.Public, s.home),
		web.Post(links.Theme, tenancy.Public, s.setTheme),
		web.Post(links.PutAway, tenancy.SignedIn, s.putAway),
		web.Get(links.Settings, tenancy.SignedIn, s.settingsHome),
		web.Get(static.Prefix+"*", tenancy.Public, s.static),
		web.Get(links.AgentScript, tenancy.Public, s.agentScript),
		web.Get("/healthz", tenancy.Public, s.healthz),
		web.Get("/readyz", tenancy.Public, s.readyz),
		web.Get("/health/coordinator", tenancy.Public, s.healthOfCoordinator),
		web.Post(cspReportPath, tenancy.Public, s.cspReport),
	}
}

func (s *Server) home(c echo.Context, _ tenancy.Principal) error {
	return web.SeeOther(c, links.Board)
}

// settingsHome answers with the first page of the settings.
func (s *Server) settingsHome(c echo.Context, _ tenancy.Principal) error {
	return web.SeeOther(c, links.Account)
}

func (s *Server) static(c echo.Context, _ tenancy.Principal) error {
	static.Handler().ServeHTTP(c.Response(), c.Request())
	return nil
}

// agentScript answers with the example agent, which hosts get without a token.
func (s *Server) agentScript(c echo.Context, _ tenancy.Principal) error {
	return c.Blob(http.StatusOK, "text/x-shellscript; charset=utf-8", examples.Agent)
}

// healthz says that the process runs; readyz that it can do its work.
func (s *Server) healthz(c echo.Context, _ tenancy.Principal) error {
	return c.String(http.StatusOK, "ok\n")
}

func (s *Server) readyz(c echo.Context, _ tenancy.Principal) error {
	if s.Ready != nil {
		if err := s.Ready(c.Request().Context()); err != nil {
			s.Log.WarnContext(c.Request().Context(), "not ready", "error", err)
			c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(web.UnknownTime))
			return c.String(http.StatusServiceUnavailable, "not ready\n")
		}
	}
	return c.String(http.StatusOK, "ready\n")
}
