package handlers

import (
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// coordinatorHealth is the body of /health/coordinator.
type coordinatorHealth struct {
	Active     bool   `json:"active"`
	InstanceID string `json:"instance_id"`
	Term       int64  `json:"term"`
	// LastCycleAt and SecondsSince are null before the first cycle of all.
	LastCycleAt  *time.Time `json:"last_cycle_at"`
	SecondsSince *float64   `json:"seconds_since_last_cycle"`
}

// healthOfCoordinator is for monitors: 200 where somebody leads and did
// something in the last minute, else 503, also where the database is away.
func (s *Server) healthOfCoordinator(c echo.Context, _ tenancy.Principal) error {
	is, err := s.standing.Get(c.Request().Context())
	if err != nil {
		s.Log.WarnContext(c.Request().Context(), "health of the coordinator is not known", "error", err)
	}
	health := coordinatorHealth{Active: is.Active, InstanceID: is.Holder, Term: is.Term}
	if is.LastCycleAt != nil {
		at, since := is.LastCycleAt.UTC(), is.Now.Sub(*is.LastCycleAt).Seconds()
		health.LastCycleAt, health.SecondsSince = &at, &since
	}
	if !is.Healthy() {
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(web.UnknownTime))
		return c.JSON(http.StatusServiceUnavailable, health)
	}
	return c.JSON(http.StatusOK, health)
}
