package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/accounts"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
	"fleetboard/views/links"
)

// membersShow is the page of members and invitations.
func (s *Server) membersShow(c echo.Context, who tenancy.Principal) error {
	return s.membersPage(c, who, http.StatusOK, inviteForm{})
}

// inviteForm is what was typed and refused, or the link that was made of it.
type inviteForm struct {
	email, role string
	wrong       map[string]string
	link        string // address
	made        accounts.PendingInvitation
}

func (s *Server) membersPage(c echo.Context, who tenancy.Principal, status int, in inviteForm) error {
	ctx := c.Request().Context()
	sheet := memberSheet{who: who, invite: in}
	var err error
	if sheet.members, err = s.Accounts.Members(ctx, who); err != nil {
		return err
	}
	if who.Can(tenancy.Manage) {
		if sheet.pending, err = s.Accounts.Invitations(ctx, who); err != nil {
			return err
		}
	}
	shell, err := s.settingsShell(c, who, "Members", links.Members)
	if err != nil {
		return err
	}
	sheet.now = shell.Now
	m := sheet.model()
	m.Shell = shell
	return web.Render(c, status, views.MembersView(m))
}
