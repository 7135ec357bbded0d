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

// logInMine takes the person's word that a new log in was the own one.
func (p *accountPages) logInMine(c echo.Context, who tenancy.Principal) error {
	if err := p.settleLogIn(c, who, true); err != nil {
		return err
	}
	return web.SeeOther(c, links.Account)
}

// logInNotMine ends the session of somebody else's log in and leads to what has to
// change.
func (p *accountPages) logInNotMine(c echo.Context, who tenancy.Principal) error {
	if err := p.settleLogIn(c, who, false); err != nil {
		return err
	}
	p.SetFlash(c, ui.Toast{Tone: ui.Warn, Title: "That browser is logged out",
		Text: "Whoever it was knows how to log in: change your password now and revoke your tokens with it."})
	return web.SeeOther(c, links.Account+"#password-part")
}

func (p *accountPages) settleLogIn(c echo.Context, who tenancy.Principal, mine bool) error {
	id, ok := ids.Parse(c.Param("login"))
	if !ok {
		return fault.New(fault.NotFound, "There is no such log in.")
	}
	return p.Accounts.LogIns.SettleLogIn(c.Request().Context(), who, id, mine, p.SessionToken(c))
}
