package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/views/links"
)

// openWhileHeld are the routes of somebody who has to set up a second factor.
var openWhileHeld = map[string]bool{links.SecondFactor: true, links.ConfirmFactor: true, links.SwitchWorkspace: true}

// toFactor leads somebody there who has to set it up first.
func toFactor(c echo.Context) error {
	switch {
	case web.IsHX(c):
		c.Response().Header().Set("HX-Redirect", links.SecondFactor)
		return c.NoContent(http.StatusForbidden)
	case !web.WantsPage(c):
		return fault.New(fault.Forbidden, "This workspace asks for a second factor. Set it up first.")
	}
	return web.SeeOther(c, links.SecondFactor)
}
