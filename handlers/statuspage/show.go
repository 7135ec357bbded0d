package statuspage

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/coordinator"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/statuspage"
	"github.com/fleetboard/fleetboard/views/ui"
)

// show is the page of the coordinator. ?before= names a line of its log.
func (p *Pages) show(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	before, err := parseBefore(c.QueryParams())
	if err != nil {
		return err
	}
	around, err := p.Screens.PageContext(ctx, who)
	if err != nil {
		return err
	}
	sheet, err := p.read(ctx, who, around.Fleet, before)
	if err != nil {
		return err
	}
	shell, err := p.Web.Page(c, who, around.Fleet, layout.SectionStatus, "Status")
	if err != nil {
		return err
	}
	shell.Now, shell.Health, shell.LiveURL = sheet.now, web.ShownHealth(sheet.status), links.LiveStatus(around.Cursor, before)
	return web.Render(c, http.StatusOK, view.View(view.Page{Shell: shell, Status: sheet.model()}))
}

// parseBefore reads the place in the log, 0 for its newest line. Fault: NotFound.
func parseBefore(q url.Values) (int64, error) {
	text := q.Get("before")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fault.New(fault.NotFound, "The log has no such place.")
	}
	return n, nil
}

// read asks for what the page shows beside the fleet.
func (p *Pages) read(ctx context.Context, who tenancy.Principal, snap fleet.Snapshot, before int64) (pageData, error) {
	sheet := pageData{snap: snap, canRun: who.Can(tenancy.RunFleet), before: before}
	asked := time.Now()
	var err error
	if sheet.status, err = p.Coordinator.Status(ctx); err != nil {
		return sheet, err
	}
	sheet.took = time.Since(asked)
	if sheet.now = sheet.status.Now; sheet.now.IsZero() {
		sheet.now = web.Now(snap)
	}
	if sheet.canRun {
		sheet.lines, sheet.older, err = p.Coordinator.Logs(ctx, who, coordinator.LogFilter{Before: before, Limit: statusLines})
	}
	return sheet, err
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
