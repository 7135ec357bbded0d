package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/workspaces"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// refuseStale answers a request of a page that was made in another workspace
// than the one that its person is in now: he switched in another tab, or was
// taken out. It must not act here. True where it has answered.
//
// A request that names no workspace is let through: it comes from a page that
// belongs to none, or from no page.
func (s *Server) refuseStale(c echo.Context, route string, who tenancy.Principal) (bool, error) {
	if route == links.SwitchWorkspace {
		return false, nil
	}
	from, err := pageWorkspace(c)
	if err != nil || from == "" || from == who.Workspace.String() {
		return false, err
	}
	list, err := s.Accounts.Workspaces.Of(c.Request().Context(), who.Account)
	if err != nil {
		return true, err
	}
	return true, s.showStale(c, staleModel(from, who, list))
}

// pageWorkspace is where the page that sent the request was made, "" where it does not say.
func pageWorkspace(c echo.Context) (string, error) {
	if id := c.Request().Header.Get(layout.WorkspaceHeader); id != "" {
		return id, nil
	}
	switch c.Request().Method {
	case http.MethodGet, http.MethodHead:
		return "", nil
	}
	in, err := web.Form(c)
	if err != nil {
		return "", err
	}
	return in.Get(layout.WorkspaceField), nil
}

// stalePage says what happened to the page that sent the request.
type stalePage struct {
	title, text, back string
}

func staleModel(from string, who tenancy.Principal, list []workspaces.Workspace) stalePage {
	now, _ := web.FindWorkspace(list, who.Workspace)
	id, _ := ids.Parse(from)
	was, member := web.FindWorkspace(list, id)
	m := stalePage{title: "You switched to another workspace in another tab",
		text: "The page is of " + was.Name + ", and you are in " + now.Name + " now. Nothing was changed.",
		back: "Go to the board of " + now.Name}
	if !member {
		m.title = "You are no longer in this workspace"
		m.text = "The page is of a workspace that you are not in. You are in " + now.Name + " now. Nothing was changed."
	}
	return m
}

func (s *Server) showStale(c echo.Context, m stalePage) error {
	const status = http.StatusConflict
	switch {
	case web.IsHX(c) && c.Request().Method == http.MethodGet:
		// Parts of a page, and its stream: js/workspace.js says it once.
		return c.NoContent(status)
	case web.IsHX(c):
		return web.ShowToast(c, status, ui.Toast{Tone: ui.Bad, Title: m.title, Text: m.text, ActionURL: links.Board, ActionLabel: m.back})
	case !web.WantsPage(c):
		return c.String(status, m.title+". "+m.text+"\n")
	}
	page := layout.ErrorPage{Theme: web.ReadTheme(c), Code: status, Title: m.title, Message: m.text, BackLabel: m.back}
	if who, ok := web.Principal(c); ok {
		page.Shell = s.ErrorShell(c, who)
	}
	return web.Render(c, status, layout.ErrorView(page))
}
