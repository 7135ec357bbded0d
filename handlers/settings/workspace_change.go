package settings

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// workspaceRename saves the name, or shows the form again.
func (p *workspacePages) workspaceRename(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	name := in.Get("name")
	switch err := p.Accounts.Workspaces.Rename(c.Request().Context(), who, name); {
	case fault.Is(err, fault.Validation):
		return p.workspacePage(c, who, http.StatusUnprocessableEntity, workspaceForm{name: &name, wrong: fault.From(err).Fields})
	case err != nil:
		return err
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "The workspace was renamed"})
	return web.SeeOther(c, links.Workspace)
}

// workspaceCreate makes a workspace and goes to its board.
func (p *workspacePages) workspaceCreate(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	name := in.Get("name")
	made, err := p.Accounts.Workspaces.Create(c.Request().Context(), who, name)
	if fault.Is(err, fault.Validation) {
		return p.workspacePage(c, who, http.StatusUnprocessableEntity,
			workspaceForm{newName: &name, wrong: map[string]string{"new_name": fault.From(err).Fields["name"]}})
	}
	if err != nil {
		return err
	}
	if err := p.KeepInSession(c, sessions.Workspace, made.ID.String()); err != nil {
		return err
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: made.Name + " was created", Text: "You are its owner, and in it now."})
	return web.SeeOther(c, links.Board)
}

// workspaceSwitch goes to another workspace of the person's, for all tabs of the
// browser. The page there is the one that the person was on where every workspace
// has it, or where it was made in that workspace, else the board.
func (p *workspacePages) workspaceSwitch(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	list, err := p.Accounts.Workspaces.Of(c.Request().Context(), who.Account)
	if err != nil {
		return err
	}
	id, _ := ids.Parse(in.Get("workspace"))
	to, ok := web.FindWorkspace(list, id)
	if !ok {
		return fault.New(fault.NotFound, "You are in no such workspace.")
	}
	if err := p.KeepInSession(c, sessions.Workspace, to.ID.String()); err != nil {
		return err
	}
	next := web.SafeNext(in.Get("next"))
	if in.Get(layout.WorkspaceField) != to.ID.String() && !slices.Contains(everywhere, next) {
		next = links.Board
	}
	if to.ID != who.Workspace {
		p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "You are in " + to.Name,
			Text: "As its " + string(to.Role) + ", in all tabs of this browser."})
	}
	return web.SeeOther(c, next)
}

// everywhere are the pages that each workspace has for each role.
var everywhere = []string{links.Account, links.Workspace, links.Members, links.Products, links.Tokens, links.Connect}
