package job

import (
	"context"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
	"fleetboard/views/links"
)

// eventPage is how many events the job's page shows at once.
const eventPage = 50

// show is the page of one job. With ?before=<event> it shows an older part
// of the history, and no live changes.
func (p *Pages) show(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	around, err := p.Kanban.PageContext(ctx, who)
	if err != nil {
		return err
	}
	before, _ := strconv.ParseInt(c.QueryParam("before"), 10, 64)
	sheet, err := p.read(ctx, who, c.Param("key"), max(0, before))
	if err != nil {
		return err
	}
	shell, err := p.Web.Page(c, who, around.Fleet, "", sheet.job.Key+" "+sheet.job.Title)
	if err != nil {
		return err
	}
	if before <= 0 {
		shell.LiveURL = links.LiveJob(around.Cursor, sheet.job.Key)
	}
	log, err := p.readLog(ctx, who, sheet.job, links.LogView{}, sheet.now)
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, views.JobView(views.JobPage{Shell: shell, Job: sheet.model(), Log: log}))
}

// panel is the live part of the page.
func (p *Pages) panel(c echo.Context, who tenancy.Principal) error {
	sheet, err := p.read(c.Request().Context(), who, c.Param("key"), 0)
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, views.LiveJob(sheet.model()))
}

// read reads all that a job's page shows: of its history the newest events,
// or those before one of them.
func (p *Pages) read(ctx context.Context, who tenancy.Principal, key string, before int64) (pageData, error) {
	why, err := p.Kanban.Explain(ctx, who, key)
	if err != nil {
		return pageData{}, err
	}
	sheet := pageData{job: why.Job, why: why, before: before, canWrite: who.Can(tenancy.WriteJobs), canDelete: who.Can(tenancy.Manage)}
	if sheet.attempts, err = p.Attempts.Attempts(ctx, who, sheet.job.ID.String()); err != nil {
		return sheet, err
	}
	if sheet.used, err = p.Dispatch.Usage(ctx, who, sheet.job.ID, epochs(sheet.attempts)...); err != nil {
		return sheet, err
	}
	if sheet.graph, err = p.Links.Graph(ctx, who, sheet.job.ID.String()); err != nil {
		return sheet, err
	}
	sheet.links = sheet.graph.Nodes
	if sheet.talk, err = p.Kanban.Conversation(ctx, who, sheet.job.ID); err != nil {
		return sheet, err
	}
	if sheet.events, err = p.Events.OfJob(ctx, who, sheet.job.ID, before, eventPage+1); err != nil {
		return sheet, err
	}
	snap, err := p.Fleet.Snapshot(ctx, who)
	sheet.snap, sheet.now = snap, web.Now(snap)
	return sheet, err
}
