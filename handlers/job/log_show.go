package job

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/links"
)

// logPage is how many lines of a log are shown at once.
const logPage = 200

// logAfter is how many lines are shown behind the one that a link names.
const logAfter = 50

// showLog answers with the page of a job's log: ?level= shows that level and graver
// ones, ?epoch= one attempt, ?q= the lines with a text, ?before= what is older than
// a line, ?line= what is around one. htmx and the page's script get the panel alone.
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
	log, err := p.readLog(ctx, who, job, parseLogView(c), web.Now(snap))
	log.State = logState(job, snap)
	if err != nil {
		return err
	}
	if web.IsHX(c) {
		return web.Render(c, http.StatusOK, view.LogPanel(log))
	}
	shell, err := p.Page(c, who, snap, "", "Log of "+job.Key+" "+job.Title)
	if err != nil {
		return err
	}
	log.Tall = true
	return web.Render(c, http.StatusOK, view.LogView(view.LogPage{Shell: shell, Title: job.Title, Log: log}))
}

// parseLogView returns the part of a log that an address selects; what it says wrongly
// is left out.
func parseLogView(c echo.Context) links.LogView {
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(c.QueryParam(name), 10, 64)
		return max(0, n)
	}
	v := links.LogView{Epoch: number("epoch"), Before: number("before"), Line: number("line"), Text: web.SearchText(c.QueryParam("q"))}
	for _, l := range logLevels {
		if string(l.level) == c.QueryParam("level") {
			v.Level = string(l.level)
		}
	}
	return v
}

func toLogFilter(v links.LogView) joblog.Filter {
	f := joblog.Filter{Level: joblog.Level(v.Level), Epoch: v.Epoch, Text: v.Text, Limit: logPage}
	if v.Before > 0 {
		f.Cursor = strconv.FormatInt(v.Before, 10)
	}
	return f
}

// readLog reads a part of a job's log. The newest part is live.
func (p *Pages) readLog(ctx context.Context, who tenancy.Principal, job jobs.Job, v links.LogView, now time.Time) (view.Log, error) {
	if v.Line > 0 {
		return p.readAround(ctx, who, job, v, now)
	}
	found, next, err := p.JobLogs.Logs(ctx, who, job.ID.String(), toLogFilter(v))
	scanned, _ := strconv.ParseInt(next, 10, 64)
	return logData{job: job, view: v, found: found, more: next != "", next: scanned, now: now}.model(), err
}

// readAround reads the lines up to the one that a link names, and some behind it.
func (p *Pages) readAround(ctx context.Context, who tenancy.Principal, job jobs.Job, v links.LogView, now time.Time) (view.Log, error) {
	upTo := v
	upTo.Text, upTo.Before = "", v.Line+1
	f := toLogFilter(upTo)
	found, next, err := p.JobLogs.Logs(ctx, who, job.ID.String(), f)
	if err != nil {
		return view.Log{}, err
	}
	f.Limit = logAfter
	behind, err := p.JobLogs.LogsAfter(ctx, who, job.ID, v.Line, f)
	slices.Reverse(behind)
	return logData{job: job, view: upTo, found: append(behind, found...), more: next != "", now: now}.model(), err
}
