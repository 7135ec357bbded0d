package handlers

import (
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// CSPReportPath is where browsers send their reports.
const CSPReportPath = cspReportPath

// Routed returns the routes with their permissions.
func (s *Server) Routed() []web.Route { return s.routed }

// Mounted returns the routes that are answered.
func (s *Server) Mounted() []*echo.Route { return s.echo.Routes() }

// ReportsPerMinute bounds what unknown callers can write into the log.
const ReportsPerMinute = reportsPerMinute

// CoordinatorHealth is the body of /health/coordinator.
type CoordinatorHealth = coordinatorHealth

// Quiet reports whether a route is one that machines call every few seconds, or a file.
func Quiet(route string) bool { return quiet(route) }

// Home leads to the board.
func (s *Server) Home(c echo.Context, who tenancy.Principal) error { return s.home(c, who) }
