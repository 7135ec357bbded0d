package login

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/members"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/login"
	"github.com/fleetboard/fleetboard/views/ui"
)

// invitationShow answers with the page of an open invitation's link.
func (p *Pages) invitationShow(c echo.Context, _ tenancy.Principal) error {
	return p.invitationPage(c, http.StatusOK, joinForm{})
}

// joinForm is what was typed and refused.
type joinForm struct {
	name  string
	wrong map[string]string
}

func (p *Pages) invitationPage(c echo.Context, status int, typed joinForm) error {
	token := c.Param("token")
	in, err := p.Accounts.Members.OpenInvitation(c.Request().Context(), token)
	if err != nil {
		return err
	}
	m := view.InvitationPage{Theme: web.ReadTheme(c), URL: links.Invitation(token), Workspace: in.WorkspaceName,
		Role: web.RoleWord(in.Role),
		May:  RoleMay[in.Role], By: in.By, Until: ui.In(in.Expires, time.Now()), Name: typed.name, Email: in.Email, Errors: typed.wrong,
		LogInURL: links.LoginNext(links.Invitation(token)), Identity: p.identityJoin(token)}
	if m.Guest, err = p.guest(c, in); err != nil {
		return err
	}
	return web.RenderSecret(c, status, view.InvitationView(m))
}

// guest returns who is logged in, also one who is in no workspace; nil for nobody.
func (p *Pages) guest(c echo.Context, in members.Invitation) (*view.InvitationGuest, error) {
	ctx := c.Request().Context()
	id, ok, err := p.guestAccount(c)
	if err != nil || !ok {
		return nil, err
	}
	account, err := p.Accounts.People.Guest(ctx, id)
	if err != nil {
		return nil, err
	}
	list, err := p.Accounts.Workspaces.Of(ctx, id)
	if err != nil {
		return nil, err
	}
	g := &view.InvitationGuest{Account: id.String(), Name: account.Name, Email: account.Email}
	if w, ok := web.FindWorkspace(list, in.Workspace); ok {
		g.Already, g.WorkspaceID = string(w.Role), w.ID.String()
	}
	return g, nil
}

// guestAccount is who is logged in, whether in a workspace or in none; false for
// nobody.
func (p *Pages) guestAccount(c echo.Context) (ids.ID, bool, error) {
	ctx, err := p.Sessions.Load(c.Request().Context(), p.SessionToken(c))
	if err != nil {
		return ids.Nil, false, err
	}
	id, ok := ids.Parse(p.Sessions.GetString(ctx, sessions.Account))
	return id, ok, nil
}

// invitationAccept joins: as the person who is logged in, where the form says
// that it was made for him, or as a new one. A form that was made for somebody
// else is shown again as it is now.
func (p *Pages) invitationAccept(c echo.Context, _ tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	account, signedIn, err := p.guestAccount(c)
	if err != nil {
		return err
	}
	ctx, token, as := c.Request().Context(), c.Param("token"), in.Get("as")
	switch {
	case signedIn && as == account.String():
		done, err := p.Accounts.Members.Accept(ctx, token, account)
		if err != nil {
			return err
		}
		if err := p.KeepInSession(c, sessions.Workspace, done.Workspace.String()); err != nil {
			return err
		}
		return p.joined(c, done)
	case signedIn || as != "":
		return p.invitationPage(c, http.StatusConflict, joinForm{})
	}
	name := in.Get("name")
	made, done, err := p.Accounts.Members.JoinAsNew(ctx, token, name, in.Get("password"))
	if fault.Is(err, fault.Validation) {
		return p.invitationPage(c, http.StatusUnprocessableEntity, joinForm{name: name, wrong: fault.From(err).Fields})
	}
	if err != nil {
		return err
	}
	if err := p.SignIn(c, made); err != nil {
		return err
	}
	return p.joined(c, done)
}

// joined goes to the board of the workspace.
func (p *Pages) joined(c echo.Context, done members.Joined) error {
	t := ui.Toast{Tone: ui.OK, Title: "You are in " + done.Name, Text: "As " + web.RoleWord(done.Role) + ". " + RoleMay[done.Role]}
	if done.Already {
		t.Text = "You were before, as " + web.RoleWord(done.Role) + ". The link was not used up."
	}
	p.SetFlash(c, t)
	return web.SeeOther(c, links.Board)
}

// RoleMay says what a role is for.
var RoleMay = map[tenancy.Role]string{
	tenancy.RoleOwner:  "Owners may do everything.",
	tenancy.RoleAdmin:  "Admins work on jobs, run the fleet and manage settings and people.",
	tenancy.RoleMember: "Members create, move and review jobs.",
	tenancy.RoleViewer: "Viewers see everything and change nothing.",
}
