package needsyou

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/needsyou"
)

// show is the page of the jobs that wait for a person.
func (p *Pages) show(c echo.Context, who tenancy.Principal) error {
	page, err := p.Screens.NeedsPage(c.Request().Context(), who)
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
