package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// workspaceShow is the page of the workspace that the person is in.
func (s *Server) workspaceShow(c echo.Context, who tenancy.Principal) error {
	return s.workspacePage(c, who, http.StatusOK, workspaceForm{})
}

// workspaceForm is what was typed and refused.
type workspaceForm struct {
	name, newName *string // nil where that form was not sent
	wrong         map[string]string
}

func (s *Server) workspacePage(c echo.Context, who tenancy.Principal, status int, in workspaceForm) error {
	about, err := s.Accounts.AboutWorkspace(c.Request().Context(), who)
	if err != nil {
		return err
	}
	shell, err := s.settingsShell(c, who, "Workspace", links.Workspace)
	if err != nil {
		return err
	}
	m := views.WorkspacePage{Shell: shell, Name: about.Name, Slug: about.Slug, Since: ui.Day(about.Since), Role: string(who.Role), NeedsFactor: about.NeedsFactor,
		CanRename: who.Can(tenancy.Own), CanCreate: who.Can(tenancy.Manage), Errors: in.wrong}
	if in.name != nil {
		m.Name = *in.name
	}
	if in.newName != nil {
		m.NewName = *in.newName
	}
	return web.Render(c, status, views.WorkspaceView(m))
}

// settingsShell is the shell of a page of the settings. Its path is given, for a
// refused form has no address that the theme's form could come back to.
func (s *Server) settingsShell(c echo.Context, who tenancy.Principal, title, path string) (views.Shell, error) {
	snap, err := s.Fleet.Snapshot(c.Request().Context(), who)
	if err != nil {
		return views.Shell{}, err
	}
	shell, err := s.Web.Page(c, who, snap, views.SectionSettings, title)
	shell.Path = path
	return shell, err
}
