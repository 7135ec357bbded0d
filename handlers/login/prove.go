package login

import (
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/ui"
)

// proveStart sends a person without a password to the provider, to log in anew.
func (p *identityPages) proveStart(c echo.Context, who tenancy.Principal) error {
	return p.toProvider(c, identityFlow{Purpose: toProve, Account: who.Account, Next: web.SafeNext(c.QueryParam("next"))})
}

// identityProven believes the person of the session where the provider vouches for
// the same one.
func (p *identityPages) identityProven(c echo.Context, flow identityFlow, claims oidc.Claims) error {
	who, err := p.Person(c)
	if err != nil {
		return err
	}
	account, known, err := p.Accounts.Identities.Account(c.Request().Context(), claims)
	if err != nil {
		return err
	}
	if !known || account.ID != who.Account || flow.Account != who.Account {
		return p.identityRefused(c, flow, fault.New(fault.Malformed,
			"You are another person there than the one who is logged in here. Begin again."))
	}
	if err := p.KeepInSession(c, sessions.Proven, web.ProvenNow()); err != nil {
		return err
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "Thank you, it is you", Text: "You can go on for ten minutes."})
	return web.SeeOther(c, web.SafeNext(flow.Next))
}
