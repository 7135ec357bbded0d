package settings

import (
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// memberRole gives a member another role.
func (p *memberPages) memberRole(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	account, err := memberID(c)
	if err != nil {
		return err
	}
	role := tenancy.Role(in.Get("role"))
	err = p.Accounts.Members.ChangeRole(c.Request().Context(), who, account, role)
	return p.membersChanged(c, err, "The role was changed", "The member is "+web.RoleWord(role)+" now.")
}

// memberStepDown makes the owner who calls it an admin.
func (p *memberPages) memberStepDown(c echo.Context, who tenancy.Principal) error {
	err := p.Accounts.Members.ChangeRole(c.Request().Context(), who, who.Account, tenancy.RoleAdmin)
	return p.membersChanged(c, err, "You stepped down", "You are an admin now.")
}

// memberRemove takes a member out of the workspace.
func (p *memberPages) memberRemove(c echo.Context, who tenancy.Principal) error {
	account, err := memberID(c)
	if err != nil {
		return err
	}
	err = p.Accounts.Members.Remove(c.Request().Context(), who, account)
	return p.membersChanged(c, err, "The member was removed", "Their tokens and open invitations here have ended.")
}

// membersChanged goes back to the page with what was done, or why the last owner
// stays. Other refusals are errors.
func (p *memberPages) membersChanged(c echo.Context, err error, title, text string) error {
	t := ui.Toast{Tone: ui.OK, Title: title, Text: text}
	switch f := fault.From(err); {
	case err == nil:
	case f.Code == fault.InUse:
		t = ui.Toast{Tone: ui.Bad, Title: "Nothing was changed", Text: f.Message}
	default:
		return err
	}
	p.SetFlash(c, t)
	return web.SeeOther(c, links.Members)
}

// memberLeave takes the caller out of the workspace, and on to another
// of his; without one he is logged out.
func (p *memberPages) memberLeave(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	if err := p.Accounts.Members.Leave(ctx, who); err != nil {
		return p.membersChanged(c, err, "", "")
	}
	rest, err := p.Accounts.Workspaces.Of(ctx, who.Account)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		if err := p.SignOut(c); err != nil {
			return err
		}
		return web.SeeOther(c, links.Login)
	}
	if err := p.KeepInSession(c, sessions.Workspace, rest[0].ID.String()); err != nil {
		return err
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "You left the workspace", Text: "You are in " + rest[0].Name + " now."})
	return web.SeeOther(c, links.Board)
}

func memberID(c echo.Context) (ids.ID, error) {
	id, ok := ids.Parse(c.Param("account"))
	if !ok {
		return ids.Nil, fault.New(fault.NotFound, "There is no such member.")
	}
	return id, nil
}
