package job

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/job"
)

// attemptPage is how many attempts a page shows.
const attemptPage = 20

// showAttempts answers with the page of a job's attempts. With ?before=<epoch> it shows
// older ones.
func (p *Pages) showAttempts(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	before, _ := strconv.ParseInt(c.QueryParam("before"), 10, 64)
	sheet := attemptsPageData{before: max(0, before)}
	var err error
	if sheet.job, sheet.list, sheet.more, err = p.Attempts.AttemptPage(ctx, who, c.Param("key"), sheet.before, attemptPage); err != nil {
		return err
	}
	if sheet.used, err = p.Dispatch.Usage(ctx, who, sheet.job.ID, sheet.epochs()...); err != nil {
		return err
	}
	snap, err := p.Fleet.Snapshot(ctx, who)
	if err != nil {
		return err
	}
	sheet.now = web.Now(snap)
	m := sheet.model()
	if m.Shell, err = p.Page(c, who, snap, "", "Attempts on "+sheet.job.Key+" "+sheet.job.Title); err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.AttemptsView(m))
}
