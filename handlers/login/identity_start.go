package login

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

func noProvider() error {
	return fault.New(fault.NotFound, "This server has no identity provider.")
}

// identityStart sends a visitor to the provider, to log in or to accept an
// invitation.
func (p *identityPages) identityStart(c echo.Context, _ tenancy.Principal) error {
	if token := c.QueryParam("invitation"); token != "" {
		return p.toProvider(c, identityFlow{Purpose: toJoin, Invitation: token})
	}
	next := web.SafeNext(c.QueryParam("next"))
	switch _, err := p.Person(c); {
	case err == nil:
		return web.SeeOther(c, next)
	case !fault.Is(err, fault.Unauthenticated):
		return err
	}
	return p.toProvider(c, identityFlow{Purpose: toLogIn, Next: next})
}

// identityLinkStart sends a person to the provider, to link an identity there to
// the own account.
func (p *identityPages) identityLinkStart(c echo.Context, who tenancy.Principal) error {
	if p.Provider == nil {
		return noProvider()
	}
	at, err := p.Accounts.Identities.Of(c.Request().Context(), who, p.Provider.Issuer())
	if err != nil {
		return err
	}
	if at.Linked {
		p.SetFlash(c, ui.Toast{Tone: ui.Info, Title: p.Provider.Name() + " is linked already",
			Text: "Unlink it first to link somebody else there."})
		return web.SeeOther(c, links.Account)
	}
	return p.toProvider(c, identityFlow{Purpose: toLink, Account: who.Account})
}

// toProvider begins a log in there and remembers it in this browser.
func (p *identityPages) toProvider(c echo.Context, f identityFlow) error {
	if p.Provider == nil {
		return noProvider()
	}
	begin := p.Provider.Begin
	if f.Purpose == toProve {
		begin = p.Provider.BeginAnew
	}
	address, flow, err := begin(c.Request().Context())
	if err != nil {
		return p.identityRefused(c, f, err)
	}
	f.Flow, f.At = flow, time.Now()
	if err := p.keep(c, keptFlow, f); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, address)
}
