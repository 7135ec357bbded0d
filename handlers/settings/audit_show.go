package settings

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/events"
	"github.com/fleetboard/fleetboard/views/layout"
	view "github.com/fleetboard/fleetboard/views/settings"
)

// auditSize is how many changes the audit shows at once.
const auditSize = 50

// auditShow answers with the page of who did what in settings, the newest first. With
// ?before=<place> it shows an older part; for htmx that is only the lines.
func (p *recordPages) auditShow(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	before, err := eventlog.ParseAuditPlace(c.QueryParam("before"))
	if err != nil {
		return err
	}
	sheet := auditPageData{filter: parseAudit(c.QueryParams()), past: before != eventlog.AuditPlace{}}
	list, older, err := p.Events.Audit(ctx, who, sheet.log(), before, auditSize)
	if err != nil {
		return err
	}
	sheet.events = list
	if older != (eventlog.AuditPlace{}) {
		sheet.older = older.String()
	}
	snap, err := p.Fleet.Snapshot(ctx, who)
	if err != nil {
		return err
	}
	sheet.now = web.Now(snap)
	if web.IsHX(c) && sheet.past {
		return web.Render(c, http.StatusOK, events.Rows(sheet.model().Items))
	}
	shell, err := p.Page(c, who, snap, layout.SectionSettings, "Audit")
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.AuditView(view.AuditPage{Shell: shell, Audit: sheet.model()}))
}
