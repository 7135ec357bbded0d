package handlers

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/edge"
	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts"
	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/coordinator"
	"github.com/fleetboard/fleetboard/internal/dispatch"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/jobs/jobsearch"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// Deps is what the pages need.
type Deps struct {
	Accounts *accounts.Parts
	// Provider is the identity provider; nil where none is configured.
	Provider *oidc.Provider
	// Sessions comes from NewSessions.
	Sessions *scs.SessionManager
	Log      *slog.Logger

	Jobs     *jobs.Service
	Attempts *attempts.Service
	JobLogs  *joblog.Service
	// JobSearch finds jobs by words.
	JobSearch *jobsearch.Service
	Fleet     *fleet.Service
	Dispatch  *dispatch.Service
	Screens   *screens.Service
	Bus       *bus.Service
	Events    *eventlog.Log
	Budgets   *budgets.Service
	Blobs     *blobs.Service
	Prices    *prices.Service
	// Estimates say what jobs are expected to cost.
	Estimates *estimates.Service
	Usage     *usage.Service
	// Coordinator says who leads.
	Coordinator *coordinator.Service

	// Ready reports whether the server can answer, for /readyz.
	Ready func(context.Context) error
	// Done is closed when the server stops: live streams end then. Nil is a
	// server that never stops.
	Done <-chan struct{}
	// EnrolmentTokenFile is shown to people who connect their first factory.
	EnrolmentTokenFile string
	// Secure is whether people reach the server by https: cookies are then
	// bound to it, and browsers are told to stay with it.
	Secure bool
	// Quota is how much each person and each address may send; nil is no limit.
	Quota *quota.Quota
	// Turns are those of pages, which are expensive; nil is no limit.
	Turns *quota.Turns
	// ClientAddress says where a request comes from. Nil is the connection's
	// address.
	ClientAddress func(*http.Request) string
}

// Server serves the pages. It is an http.Handler.
type Server struct {
	Deps
	// Web is what all pages have in common.
	Web *web.Site
	// Live runs the streams of open pages.
	Live *live.Hub

	echo   *echo.Echo
	routed []web.Route
	origin *http.CrossOriginProtection
	csp    reportLimit
	// standing says who leads, for /health/coordinator.
	standing *edge.Probe[coordinator.Status]
}

// standingFresh is how old may be what the pages say of the coordinator.
const standingFresh = 5 * time.Second

// New returns the server with all its routes.
func New(d Deps) *Server {
	e := echo.New()
	site := web.New(web.Deps{Accounts: d.Accounts, Provider: d.Provider, Sessions: d.Sessions, Log: d.Log, Fleet: d.Fleet,
		Screens: d.Screens, EnrolmentTokenFile: d.EnrolmentTokenFile, Secure: d.Secure,
		Standing: edge.NewProbe(standingFresh, d.Coordinator.Status).Get})
	s := &Server{Deps: d, Web: site, echo: e, origin: http.NewCrossOriginProtection()}
	s.standing = edge.NewProbe(0, func(ctx context.Context) (coordinator.Status, error) { return s.Coordinator.Status(ctx) })
	// Browsers send reports of the policy without saying from where.
	s.origin.AddInsecureBypassPattern("POST " + cspReportPath)

	if e.IPExtractor = d.ClientAddress; e.IPExtractor == nil {
		e.IPExtractor = echo.ExtractIPDirect()
	}
	e.HTTPErrorHandler = s.Web.HandleError
	e.Use(requestID, pageHeaders, s.accessLog, recoverPanic, s.checkOrigin, limitBody)
	s.Mount(s.routes())
	s.Mount(s.pages())
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

// Mount mounts routes behind their guards. A route without a Need is a
// defect and panics at the start.
func (s *Server) Mount(routes []web.Route) {
	for _, route := range routes {
		if route.Need == "" {
			panic("handlers: " + route.Method + " " + route.Path + " names no permission")
		}
		s.echo.Add(route.Method, route.Path, s.guard(route))
		s.routed = append(s.routed, route)
	}
}
