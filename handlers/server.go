package handlers

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/edge"
	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/coordinator"
)

// Deps is what the pages need.
type Deps = web.Deps

// Server serves the pages. It is an http.Handler.
type Server struct {
	// Site is what all pages have in common.
	*web.Site
	// Live runs the streams of open pages.
	Live *live.Hub

	echo   *echo.Echo
	routed []web.Route
	origin *http.CrossOriginProtection
	csp    reportLimit
	// standing says who leads, for /health/coordinator.
	standing *edge.Probe[coordinator.Status]
}

// New returns the server with all its routes.
func New(d Deps) *Server {
	e := echo.New()
	s := &Server{Site: web.New(d), echo: e, origin: http.NewCrossOriginProtection()}
	s.standing = edge.NewProbe(0, func(ctx context.Context) (coordinator.Status, error) { return s.Coordinator.Status(ctx) })
	// Browsers send reports of the policy without saying from where.
	s.origin.AddInsecureBypassPattern("POST " + cspReportPath)

	if e.IPExtractor = d.ClientAddress; e.IPExtractor == nil {
		e.IPExtractor = echo.ExtractIPDirect()
	}
	e.HTTPErrorHandler = s.HandleError
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
