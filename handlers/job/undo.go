package job

import (
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// undo takes back the last act on a job. Where the job has moved on since, the toast
// says who moved it.
func (p *Pages) undo(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	version, err := strconv.Atoi(in.Get("version"))
	if err != nil {
		return fault.Wrap(err, fault.Malformed, "The version is not a number.")
	}
	before, err := p.Jobs.Get(ctx, who, c.Param("key"))
	if err != nil {
		return err
	}
	after, err := p.Dispatch.Undo(ctx, who, before.Key, version)
	if jobparts.Outdated(err) {
		now, failed := p.Jobs.Get(ctx, who, before.Key)
		if failed != nil {
			return failed
		}
		return p.refused(c, who, now, jobparts.NotUndone(now, err))
	}
	if err != nil {
		return err
	}
	toast := ui.Toast{Tone: ui.OK, Title: after.Key + " is " + strings.ToLower(after.Status.Word()) + " again",
		Text: "What was done is undone."}
	if after.Status == before.Status {
		toast.Title = after.Key + " is as it was before"
	}
	if strings.HasPrefix(web.CurrentPath(c.Request()), links.Review) {
		p.SetFlash(c, toast)
		return web.SeeOther(c, links.ReviewJob(after.Key, ""))
	}
	return p.changed(c, who, after, &toast, screens.StatusColumn(before.Status))
}
