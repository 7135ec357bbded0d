package handlertest

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Probe adds routes that fail, or return who calls, in every way.
func (s *Site) Probe() {
	fail := func(err error) func(echo.Context, tenancy.Principal) error {
		return func(echo.Context, tenancy.Principal) error { return err }
	}
	s.Mount([]web.Route{
		web.Get("/probe/who", tenancy.SignedIn, func(c echo.Context, who tenancy.Principal) error {
			return c.String(http.StatusOK, fmt.Sprintf("%s %s", who.Name, who.Role))
		}),
		web.Post("/probe/write", tenancy.WriteJobs, func(c echo.Context, _ tenancy.Principal) error {
			if _, err := web.Form(c); err != nil {
				return err
			}
			return c.NoContent(http.StatusNoContent)
		}),
		web.Get("/probe/internal", tenancy.Public, fail(errors.New("secret: pq on 10.0.0.5"))),
		web.Get("/probe/conflict", tenancy.Public, fail(fault.New(fault.VersionConflict, "Someone was faster."))),
		web.Get("/probe/wait", tenancy.Public, fail(fault.New(fault.TooMany, "Slow.").With("retry_after", 7))),
		web.Get("/probe/panic", tenancy.Public, func(echo.Context, tenancy.Principal) error { panic("secret value") }),
		web.Get("/probe/late", tenancy.Public, func(c echo.Context, _ tenancy.Principal) error {
			_ = c.String(http.StatusOK, "begun")
			return errors.New("too late for a page")
		}),
	})
}
