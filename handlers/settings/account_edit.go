package settings

import (
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/login"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// accountRename changes the name that others see.
func (p *accountPages) accountRename(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	name := in.Get("name")
	if err := p.Accounts.People.Rename(c.Request().Context(), who, name); err != nil {
		return p.accountAgain(c, who, accountPageData{name: &name, in: "account"}, err, nil)
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "Your name is saved", Text: "Others see it from now on."})
	return web.SeeOther(c, links.Account)
}

// accountPassword changes the password, or sets the first one of an account that
// has none. Every session ends, and this browser gets another one.
func (p *accountPages) accountPassword(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	// Before the change: afterwards there is no session to load.
	ctx, err := p.Sessions.Load(c.Request().Context(), p.SessionToken(c))
	if err != nil {
		return err
	}
	title, epoch, err := p.changePassword(c, who, in)
	if err != nil {
		return p.accountAgain(c, who, accountPageData{in: "password", revoke: in.Get("revoke_tokens") == "1"}, err, nil)
	}
	text := "Your other browsers are logged out."
	if in.Get("revoke_tokens") == "1" {
		n, err := p.Accounts.Tokens.RevokeOwn(c.Request().Context(), who)
		if err != nil {
			return err
		}
		text += " " + web.Plural(n, "token of yours was", "tokens of yours were") + " revoked."
	}
	if err := p.RenewSession(ctx, c, epoch); err != nil {
		return err
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: title, Text: text})
	return web.SeeOther(c, links.Account)
}

// changePassword does what the page of the account, as it is now, offers. It
// returns what was done, and the epoch of the sessions that begin from now on.
func (p *accountPages) changePassword(c echo.Context, who tenancy.Principal, in url.Values) (done string, epoch int64, err error) {
	ctx := c.Request().Context()
	profile, err := p.Accounts.People.Profile(ctx, who)
	if err != nil {
		return "", 0, err
	}
	if !profile.HasPassword {
		ask, err := p.TakeProof(c, who, in, links.Account)
		if err != nil {
			return "", 0, err
		}
		if ask != nil {
			return "", 0, fault.New(fault.InvalidTransition, "%s", ask.Error)
		}
		epoch, err := p.Accounts.LogIns.SetPassword(ctx, who, in.Get("password"), p.SessionToken(c))
		return "Your password is set", epoch, err
	}
	epoch, err = p.Accounts.LogIns.ChangePassword(ctx, who, login.PasswordChange{
		Current: in.Get("current"), New: in.Get("password"), Address: c.RealIP(), Token: p.SessionToken(c),
	})
	return "Your password is changed", epoch, err
}
