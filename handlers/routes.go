package handlers

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"fleetboard/internal/tenancy"
	"fleetboard/static"
	"fleetboard/views/links"
)

// routes is every page, action and fragment, each with the permission it needs.
func (s *Server) routes() []Route {
	return []Route{
		{http.MethodGet, links.Home, tenancy.Public, s.home},
		{http.MethodGet, links.Login, tenancy.Public, s.loginForm},
		{http.MethodPost, links.Login, tenancy.Public, s.login},
		{http.MethodPost, links.Logout, tenancy.Public, s.logout},
		{http.MethodGet, "/setup/:token", tenancy.Public, s.setupForm},
		{http.MethodPost, "/setup/:token", tenancy.Public, s.setup},
		{http.MethodPost, links.Theme, tenancy.Public, s.setTheme},

		{http.MethodGet, links.Board, tenancy.ReadBoard, s.boardShow},
		{http.MethodGet, links.Board + "/column/:column", tenancy.ReadBoard, s.boardColumn},
		{http.MethodGet, "/live", tenancy.ReadBoard, s.live(&streamLimit{})},
		{http.MethodGet, links.Palette, tenancy.ReadBoard, s.paletteShow},

		{http.MethodGet, links.NewJob, tenancy.WriteJobs, s.newJobShow},
		{http.MethodPost, links.Jobs, tenancy.WriteJobs, s.newJobCreate},
		{http.MethodGet, links.Routing, tenancy.WriteJobs, s.newJobRoutability},
		{http.MethodPost, links.Preview, tenancy.WriteJobs, s.newJobPreview},
		{http.MethodGet, links.JobSearch, tenancy.ReadBoard, s.jobSearch},

		{http.MethodGet, "/jobs/:key", tenancy.ReadBoard, s.jobShow},
		{http.MethodGet, "/jobs/:key/panel", tenancy.ReadBoard, s.jobPanel},
		{http.MethodGet, "/jobs/:key/log", tenancy.ReadBoard, s.jobLogShow},
		{http.MethodGet, "/jobs/:key/log/stream", tenancy.ReadBoard, s.jobLogLive(&streamLimit{})},
		{http.MethodGet, "/jobs/:key/attempts", tenancy.ReadBoard, s.attemptsShow},
		{http.MethodPost, "/jobs/:key/move", tenancy.WriteJobs, s.jobMove},
		{http.MethodPost, "/jobs/:key/tick", tenancy.WriteJobs, s.jobTick},
		{http.MethodPost, "/jobs/:key/link", tenancy.WriteJobs, s.jobLink},
		{http.MethodPost, "/jobs/:key/unlink", tenancy.WriteJobs, s.jobUnlink},
		{http.MethodGet, "/jobs/:key/linkable", tenancy.ReadBoard, s.jobLinkable},
		{http.MethodPost, "/jobs/:key/:action", tenancy.WriteJobs, s.jobAct},

		{http.MethodGet, links.Review, tenancy.ReadBoard, s.reviewShow},
		{http.MethodPost, "/review/:key/:action", tenancy.WriteJobs, s.reviewAct},

		{http.MethodGet, links.Agents, tenancy.ReadBoard, s.agentsShow},
		{http.MethodGet, links.AgentPanel, tenancy.ReadBoard, s.agentsPanel},
		{http.MethodPost, "/factories/:name/drain", tenancy.RunFleet, s.factoryDrain},
		{http.MethodPost, "/factories/:name/undrain", tenancy.RunFleet, s.factoryUndrain},
		{http.MethodPost, "/agents/:name/terminate", tenancy.RunFleet, s.agentTerminate},

		{http.MethodGet, links.Timeline, tenancy.ReadBoard, s.timelineShow},
		{http.MethodGet, links.Status, tenancy.ReadBoard, s.statusShow},
		{http.MethodPost, links.Recover, tenancy.RunFleet, s.statusRecover},

		{http.MethodGet, links.Products, tenancy.ReadBoard, s.productsShow},
		{http.MethodPost, links.Products, tenancy.Manage, s.productCreate},
		{http.MethodGet, links.NewProduct, tenancy.Manage, s.productNew},
		{http.MethodGet, "/settings/products/:product", tenancy.Manage, s.productShow},
		{http.MethodPost, "/settings/products/:product", tenancy.Manage, s.productUpdate},
		{http.MethodPost, "/settings/products/:product/pause", tenancy.Manage, s.productPause},
		{http.MethodPost, "/settings/products/:product/resume", tenancy.Manage, s.productResume},
		{http.MethodPost, "/settings/products/:product/delete", tenancy.Manage, s.productDelete},

		{http.MethodGet, static.Prefix + "*", tenancy.Public, s.static},
		{http.MethodGet, "/healthz", tenancy.Public, s.healthz},
		{http.MethodGet, "/readyz", tenancy.Public, s.readyz},
		{http.MethodGet, "/health/coordinator", tenancy.Public, s.healthOfCoordinator},
		{http.MethodPost, cspReportPath, tenancy.Public, s.cspReport},
	}
}

func (s *Server) home(c echo.Context, _ tenancy.Principal) error {
	return seeOther(c, links.Board)
}

func (s *Server) static(c echo.Context, _ tenancy.Principal) error {
	// The file's own header says how long it may be kept.
	c.Response().Header().Del(echo.HeaderCacheControl)
	static.Handler().ServeHTTP(c.Response(), c.Request())
	return nil
}

// healthz says that the process runs; readyz that it can do its work.
func (s *Server) healthz(c echo.Context, _ tenancy.Principal) error {
	return c.String(http.StatusOK, "ok\n")
}

func (s *Server) readyz(c echo.Context, _ tenancy.Principal) error {
	if s.Ready != nil {
		if err := s.Ready(c.Request().Context()); err != nil {
			s.Log.WarnContext(c.Request().Context(), "not ready", "error", err)
			c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(unknownTime))
			return c.String(http.StatusServiceUnavailable, "not ready\n")
		}
	}
	return c.String(http.StatusOK, "ready\n")
}
