package handlers

import (
	"net/url"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/accounts"
	"fleetboard/internal/fault"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// accountRename changes the name that others see.
func (s *Server) accountRename(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	name := in.Get("name")
	if err := s.Accounts.Rename(c.Request().Context(), who, name); err != nil {
		return s.accountAgain(c, who, accountSheet{name: &name, in: "account"}, err, nil)
	}
	s.Web.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "Your name is saved", Text: "Others see it from now on."})
	return web.SeeOther(c, links.Account)
}

// accountPassword changes the password, or sets the first one of an account that
// has none. Every session ends, and this browser gets another one.
func (s *Server) accountPassword(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	// Before the change: afterwards there is no session to load.
	ctx, err := s.Sessions.Load(c.Request().Context(), s.Web.SessionToken(c))
	if err != nil {
		return err
	}
	title, epoch, err := s.changePassword(c, who, in)
	if err != nil {
		return s.accountAgain(c, who, accountSheet{in: "password", revoke: in.Get("revoke_tokens") == "1"}, err, nil)
	}
	text := "Your other browsers are logged out."
	if in.Get("revoke_tokens") == "1" {
		n, err := s.Accounts.RevokeOwnTokens(c.Request().Context(), who)
		if err != nil {
			return err
		}
		text += " " + web.Plural(n, "token of yours was", "tokens of yours were") + " revoked."
	}
	if err := s.Web.RenewSession(ctx, c, epoch); err != nil {
		return err
	}
	s.Web.SetFlash(c, ui.Toast{Tone: ui.OK, Title: title, Text: text})
	return web.SeeOther(c, links.Account)
}

// changePassword does what the page of the account, as it is now, offers. It
// returns what was done, and the epoch of the sessions that begin from now on.
func (s *Server) changePassword(c echo.Context, who tenancy.Principal, in url.Values) (done string, epoch int64, err error) {
	ctx := c.Request().Context()
	profile, err := s.Accounts.Profile(ctx, who)
	if err != nil {
		return "", 0, err
	}
	if !profile.HasPassword {
		ask, err := s.Web.TakeProof(c, who, in, links.Account)
		if err != nil {
			return "", 0, err
		}
		if ask != nil {
			return "", 0, fault.New(fault.InvalidTransition, "%s", ask.Error)
		}
		epoch, err := s.Accounts.SetPassword(ctx, who, in.Get("password"), s.Web.SessionToken(c))
		return "Your password is set", epoch, err
	}
	epoch, err = s.Accounts.ChangePassword(ctx, who, accounts.PasswordChange{
		Current: in.Get("current"), New: in.Get("password"), Address: c.RealIP(), Token: s.Web.SessionToken(c),
	})
	return "Your password is changed", epoch, err
}
