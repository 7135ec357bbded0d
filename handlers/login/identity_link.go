package login

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/status"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/login"
	"github.com/fleetboard/fleetboard/views/ui"
)

// identityConfirm asks for confirmation that the person of the provider is the one who is
// logged in here.
func (p *identityPages) identityConfirm(c echo.Context, who tenancy.Principal) error {
	found, ok, err := p.foundFor(c, who.Account)
	if err != nil {
		return err
	}
	if !ok {
		return p.linkOver(c)
	}
	return p.identityConfirmPage(c, who, http.StatusOK, found, nil)
}

// identityLink makes it a way into the account.
func (p *identityPages) identityLink(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	found, ok, err := p.foundFor(c, who.Account)
	if err != nil {
		return err
	}
	if !ok || p.Provider == nil || found.Issuer != p.Provider.Issuer() {
		return p.linkOver(c)
	}
	if in.Get("identity") != found.Key {
		return p.identityConfirmPage(c, who, http.StatusConflict, found, fault.New(fault.Malformed, asksAnew))
	}
	err = p.Accounts.Identities.Link(c.Request().Context(), who, found.Claims, in.Get("current"), c.RealIP())
	switch f := fault.From(err); {
	case err == nil:
	case f.Code == fault.Validation || f.Code == fault.AlreadyExists || f.Code == fault.TooMany:
		return p.identityConfirmPage(c, who, status.Of(f.Code), found, f)
	default:
		return err
	}
	if _, err := p.TakeFromSession(c, keptIdentity); err != nil {
		return err
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: p.Provider.Name() + " is linked", Text: "You can log in with it from now on."})
	return web.SeeOther(c, links.Account)
}

// asksAnew is the refusal of an answer to an earlier question than the one that
// waits in this browser.
const asksAnew = "You were asked about something else in another tab meanwhile. Read again what this page says now."

// linkOver sends back to where a link begins.
func (p *identityPages) linkOver(c echo.Context) error {
	p.SetFlash(c, ui.Toast{Tone: ui.Warn, Title: "Nothing was linked",
		Text: "It took longer than ten minutes, or was begun elsewhere. Begin again."})
	return web.SeeOther(c, links.Account)
}

// identityConfirmPage shows the question, with what was refused about the answer.
func (p *identityPages) identityConfirmPage(c echo.Context, who tenancy.Principal, status int, found foundIdentity,
	refused *fault.Error) error {
	ctx := c.Request().Context()
	if p.Provider == nil {
		return noProvider()
	}
	at, err := p.Accounts.Identities.Of(ctx, who, found.Issuer)
	if err != nil {
		return err
	}
	account, err := p.Accounts.People.Guest(ctx, who.Account)
	if err != nil {
		return err
	}
	snap, err := p.Fleet.Snapshot(ctx, who)
	if err != nil {
		return err
	}
	shell, err := p.Page(c, who, snap, layout.SectionSettings, "Link "+p.Provider.Name())
	if err != nil {
		return err
	}
	shell.Path = links.IdentityConfirm
	m := view.IdentityConfirm{Shell: shell, Key: found.Key, Provider: p.Provider.Name(), Email: found.Email,
		Account: account.Email, NeedsPassword: at.HasPassword}
	if refused != nil {
		if m.Errors = refused.Fields; len(m.Errors) == 0 {
			m.Error = refused.Message
		}
	}
	return web.Render(c, status, view.IdentityConfirmView(m))
}

// identityUnlink takes that way in away.
func (p *identityPages) identityUnlink(c echo.Context, who tenancy.Principal) error {
	if p.Provider == nil {
		return noProvider()
	}
	err := p.Accounts.Identities.Unlink(c.Request().Context(), who, p.Provider.Issuer())
	switch f := fault.From(err); {
	case err == nil:
		p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: p.Provider.Name() + " is unlinked",
			Text: "You log in with your password from now on."})
	case f.Code == fault.InUse:
		p.SetFlash(c, ui.Toast{Tone: ui.Bad, Title: p.Provider.Name() + " stays linked", Text: f.Message})
	default:
		return err
	}
	return web.SeeOther(c, links.Account)
}
