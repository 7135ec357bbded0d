package statuspage

import (
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/coordinator"
	"fleetboard/internal/fault"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
	view "fleetboard/views/statuspage"
	"fleetboard/views/ui"
)

// show is the page of the coordinator. ?before= names a line of its log.
func (p *Pages) show(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	sheet := pageData{canRun: who.Can(tenancy.RunFleet)}
	if text := c.QueryParam("before"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return fault.New(fault.NotFound, "The log has no such place.")
		}
		sheet.before = n
	}
	asked := time.Now()
	var err error
	if sheet.status, err = p.Coordinator.Status(ctx); err != nil {
		return err
	}
	sheet.took = time.Since(asked)
	if sheet.snap, err = p.Fleet.Snapshot(ctx, who); err != nil {
		return err
	}
	if sheet.now = sheet.status.Now; sheet.now.IsZero() {
		sheet.now = web.Now(sheet.snap)
	}
	if sheet.canRun {
		if sheet.lines, sheet.older, err = p.Coordinator.Logs(ctx, who,
			coordinator.LogFilter{Before: sheet.before, Limit: statusLines}); err != nil {
			return err
		}
	}
	shell, err := p.Web.Page(c, who, sheet.snap, "", "Status")
	if err != nil {
		return err
	}
	shell.Now = sheet.now
	return web.Render(c, http.StatusOK, view.View(view.Page{Shell: shell, Status: sheet.model()}))
}

// recover does the coordinator's work in the workspace once.
func (p *Pages) recover(c echo.Context, who tenancy.Principal) error {
	did, err := p.Dispatch.Recover(c.Request().Context(), who)
	if err != nil {
		return err
	}
	p.Web.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "The workspace was looked through", Text: recoveredText(did)})
	return web.SeeOther(c, links.Status)
}
