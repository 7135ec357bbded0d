package settings

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/members"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
)

// membersShow answers with the page of members and invitations.
func (p *memberPages) membersShow(c echo.Context, who tenancy.Principal) error {
	return p.membersPage(c, who, http.StatusOK, inviteForm{})
}

// inviteForm is what was typed and refused, or the link that was made of it.
type inviteForm struct {
	email, role string
	wrong       map[string]string
	link        string // address
	made        members.PendingInvitation
}

func (p *memberPages) membersPage(c echo.Context, who tenancy.Principal, status int, in inviteForm) error {
	ctx := c.Request().Context()
	sheet := memberPageData{who: who, invite: in}
	var err error
	if sheet.members, err = p.Accounts.Members.List(ctx, who); err != nil {
		return err
	}
	if who.Can(tenancy.Manage) {
		if sheet.pending, err = p.Accounts.Members.Invitations(ctx, who); err != nil {
			return err
		}
	}
	shell, err := p.shell(c, who, "Members", links.Members)
	if err != nil {
		return err
	}
	sheet.now = shell.Now
	m := sheet.model()
	m.Shell = shell
	return web.RenderSecret(c, status, view.MembersView(m))
}
