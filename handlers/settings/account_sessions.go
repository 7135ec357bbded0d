package settings

import (
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// sessionEnd logs one of the person's other browsers out.
func (p *accountPages) sessionEnd(c echo.Context, who tenancy.Principal) error {
	id, ok := ids.Parse(c.Param("session"))
	if !ok {
		return fault.New(fault.NotFound, "There is no such session.")
	}
	if err := p.Accounts.Sessions.End(c.Request().Context(), who, id); err != nil {
		return err
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "That browser is logged out", Text: "It can show nothing new from now on."})
	return web.SeeOther(c, links.Account)
}

// sessionsEndOthers logs all browsers out but this one.
func (p *accountPages) sessionsEndOthers(c echo.Context, who tenancy.Principal) error {
	n, err := p.Accounts.Sessions.EndOthers(c.Request().Context(), who, p.SessionToken(c))
	if err != nil {
		return err
	}
	t := ui.Toast{Tone: ui.OK, Title: "Nobody else was logged in", Text: "This browser is the only one."}
	if n > 0 {
		t.Title = web.Plural(n, "other browser is", "other browsers are") + " logged out"
	}
	p.SetFlash(c, t)
	return web.SeeOther(c, links.Account)
}

// sessionsEndAll logs all browsers out, this one too.
func (p *accountPages) sessionsEndAll(c echo.Context, who tenancy.Principal) error {
	if err := p.Accounts.Sessions.EndAll(c.Request().Context(), who); err != nil {
		return err
	}
	if err := p.SignOut(c); err != nil {
		return err
	}
	return web.SeeOther(c, links.Login)
}
