package job

import (
	"context"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
)

// eventPage is how many events the job's page shows at once.
const eventPage = 50

// show answers with the page of one job. With ?before=<event> it shows an older part
// of the history, and no live changes.
func (p *Pages) show(c echo.Context, who tenancy.Principal) error {
	before, _ := strconv.ParseInt(c.QueryParam("before"), 10, 64)
	newest := toLogFilter(links.LogView{})
	page, err := p.Screens.JobPage(c.Request().Context(), who, screens.JobQuery{Job: c.Param("key"), Before: max(0, before),
		Events: eventPage + 1, Log: &newest})
	if err != nil {
		return err
	}
	job := page.Why.Job
	shell, err := p.Page(c, who, page.Fleet, layout.SectionJob, job.Key+" "+job.Title)
	if err != nil {
		return err
	}
	if before <= 0 {
		shell.LiveURL = links.LiveJob(page.Cursor, job.Key)
	}
	data := newPageData(who, page, max(0, before))
	if err := p.readBeside(c.Request().Context(), who, &data); err != nil {
		return err
	}
	log := logData{job: job, found: page.Log, more: page.MoreLog, now: web.Now(page.Fleet)}.model()
	log.State = logState(job, page.Fleet)
	did, err := p.readTranscript(c.Request().Context(), who, job, links.TranscriptView{})
	if err != nil {
		return err
	}
	return web.RenderLive(c, http.StatusOK, shell, view.View(view.Page{Shell: shell,
		Job: data.model(), Log: log, Transcript: did.model()}))
}

// panel answers with the live part of the page.
func (p *Pages) panel(c echo.Context, who tenancy.Principal) error {
	sheet, err := p.read(c.Request().Context(), who, c.Param("key"))
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.Live(sheet.model()))
}

// read reads the live part of a job's page.
func (p *Pages) read(ctx context.Context, who tenancy.Principal, key string) (pageData, error) {
	page, err := p.Screens.JobPage(ctx, who, screens.JobQuery{Job: key, Events: eventPage + 1})
	if err != nil {
		return pageData{}, err
	}
	data := newPageData(who, page, 0)
	return data, p.readBeside(ctx, who, &data)
}

// readBeside reads what the page shows and no snapshot of the board has.
func (p *Pages) readBeside(ctx context.Context, who tenancy.Principal, d *pageData) error {
	if err := p.readDecision(ctx, who, d); err != nil {
		return err
	}
	if err := p.readDeadOffers(ctx, who, d); err != nil {
		return err
	}
	return p.readMessages(ctx, who, d)
}

func newPageData(who tenancy.Principal, page screens.JobPage, before int64) pageData {
	return pageData{JobPage: page, job: page.Why.Job, before: before, now: web.Now(page.Fleet),
		canWrite: who.Can(tenancy.WriteJobs), canDelete: who.Can(tenancy.Manage)}
}
