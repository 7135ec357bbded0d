package settings

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// workspaceShow answers with the page of the workspace that the person is in.
func (p *workspacePages) workspaceShow(c echo.Context, who tenancy.Principal) error {
	return p.workspacePage(c, who, http.StatusOK, workspaceForm{})
}

// workspaceForm is what was typed and refused.
type workspaceForm struct {
	name, newName *string // nil where that form was not sent
	wrong         map[string]string
}

func (p *workspacePages) workspacePage(c echo.Context, who tenancy.Principal, status int, in workspaceForm) error {
	about, err := p.Accounts.Workspaces.Facts(c.Request().Context(), who)
	if err != nil {
		return err
	}
	shell, err := p.shell(c, who, "Workspace", links.Workspace)
	if err != nil {
		return err
	}
	m := view.WorkspacePage{Shell: shell, Name: about.Name, Slug: about.Slug, Since: ui.Day(about.Since),
		Role: string(who.Role), NeedsFactor: about.NeedsFactor,
		CanRename: who.Can(tenancy.Own), CanCreate: who.Can(tenancy.Manage), Errors: in.wrong}
	if in.name != nil {
		m.Name = *in.name
	}
	if in.newName != nil {
		m.NewName = *in.newName
	}
	return web.Render(c, status, view.WorkspaceView(m))
}
