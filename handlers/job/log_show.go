package job

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/jobs"
	"fleetboard/internal/jobs/joblog"
	"fleetboard/internal/tenancy"
	view "fleetboard/views/job"
	"fleetboard/views/links"
)

// logPage is how many lines of a log are shown at once.
const logPage = 200

// showLog is the page of a job's log: ?level= shows that level and graver
// ones, ?epoch= one attempt, ?before= what is older than a line. htmx and the
// page's script get the panel alone.
func (p *Pages) showLog(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	job, err := p.Jobs.Get(ctx, who, c.Param("key"))
	if err != nil {
		return err
	}
	snap, err := p.Fleet.Snapshot(ctx, who)
	if err != nil {
		return err
	}
	log, err := p.readLog(ctx, who, job, logViewOf(c), web.Now(snap))
	if err != nil {
		return err
	}
	if web.IsHX(c) {
		return web.Render(c, http.StatusOK, view.LogPanel(log))
	}
	shell, err := p.Web.Page(c, who, snap, "", "Log of "+job.Key+" "+job.Title)
	if err != nil {
		return err
	}
	log.Tall = true
	return web.Render(c, http.StatusOK, view.LogView(view.LogPage{Shell: shell, Title: job.Title, Log: log}))
}

// logViewOf is the part of a log that an address asks for; what it says wrongly
// is left out.
func logViewOf(c echo.Context) links.LogView {
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(c.QueryParam(name), 10, 64)
		return max(0, n)
	}
	v := links.LogView{Epoch: number("epoch"), Before: number("before")}
	for _, l := range logLevels {
		if string(l.level) == c.QueryParam("level") {
			v.Level = string(l.level)
		}
	}
	return v
}

func logFilterOf(v links.LogView) joblog.Filter {
	f := joblog.Filter{Level: joblog.Level(v.Level), Epoch: v.Epoch, Limit: logPage}
	if v.Before > 0 {
		f.Cursor = strconv.FormatInt(v.Before, 10)
	}
	return f
}

// readLog reads a part of a job's log. The newest part is live.
func (p *Pages) readLog(ctx context.Context, who tenancy.Principal, job jobs.Job, v links.LogView, now time.Time) (view.Log, error) {
	found, next, err := p.Logs.Logs(ctx, who, job.ID.String(), logFilterOf(v))
	return logData{job: job, view: v, found: found, more: next != "", now: now}.model(), err
}
