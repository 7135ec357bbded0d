package needsyou

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/tenancy"
	"fleetboard/views/layout"
	"fleetboard/views/links"
	view "fleetboard/views/needsyou"
)

// show is the page of the jobs that wait for a person.
func (p *Pages) show(c echo.Context, who tenancy.Principal) error {
	page, err := p.Kanban.NeedsPage(c.Request().Context(), who)
	if err != nil {
		return err
	}
	shell, err := p.Web.Page(c, who, page.Fleet, layout.SectionNeedsYou, "Needs you")
	if err != nil {
		return err
	}
	shell.LiveURL = links.LiveNeedsYou(page.Cursor)
	return web.Render(c, http.StatusOK, view.View(view.Page{Shell: shell, Needs: model(page, who)}))
}
