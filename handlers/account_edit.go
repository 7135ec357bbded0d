package handlers

import (
	"github.com/labstack/echo/v4"

	"fleetboard/internal/accounts"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// accountRename changes the name that others see.
func (s *Server) accountRename(c echo.Context, who tenancy.Principal) error {
	in, err := form(c)
	if err != nil {
		return err
	}
	name := in.Get("name")
	if err := s.Accounts.Rename(c.Request().Context(), who, name); err != nil {
		return s.accountAgain(c, who, accountSheet{name: &name, in: "account"}, err, nil)
	}
	s.setFlash(c, ui.Toast{Tone: ui.OK, Title: "Your name is saved", Text: "Others see it from now on."})
	return seeOther(c, links.Account)
}

// accountPassword changes the password. Every session ends, and this browser gets
// another one.
func (s *Server) accountPassword(c echo.Context, who tenancy.Principal) error {
	in, err := form(c)
	if err != nil {
		return err
	}
	// Before the change: afterwards there is no session to load.
	ctx, err := s.Sessions.Load(c.Request().Context(), s.token(c))
	if err != nil {
		return err
	}
	epoch, err := s.Accounts.ChangePassword(c.Request().Context(), who, accounts.PasswordChange{
		Current: in.Get("current"), New: in.Get("password"), Address: c.RealIP(), Token: s.token(c),
	})
	if err != nil {
		return s.accountAgain(c, who, accountSheet{in: "password"}, err, nil)
	}
	if err := s.renewSession(ctx, c, epoch); err != nil {
		return err
	}
	s.setFlash(c, ui.Toast{Tone: ui.OK, Title: "Your password is changed", Text: "Your other browsers are logged out."})
	return seeOther(c, links.Account)
}
