package review

import (
	"context"
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/review"
)

// place is what a review page shows: a job, beside a part of the queue.
type place struct {
	key   string // of the job, or its id; "" for none
	after string // cursor of the part, "" for the oldest
}

// show is the page of the jobs that wait for a decision. The address names
// the job: what somebody else decides meanwhile never puts another job under the
// reader's hands. Without one it leads on to the oldest.
func (p *Pages) show(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	at := place{key: c.QueryParam("job"), after: c.QueryParam("after")}
	around, err := p.Screens.PageContext(ctx, who)
	if err != nil {
		return err
	}
	sheet, err := p.read(ctx, who, at, around.Fleet)
	if err != nil {
		return err
	}
	if first := sheet.next(); at.key == "" && first != "" {
		return web.SeeOther(c, links.ReviewJob(first, at.after))
	}
	title := "Review"
	if n := web.CountText(sheet.queue.Count); n != "" {
		title += " (" + n + ")"
	}
	shell, err := p.Web.Page(c, who, around.Fleet, layout.SectionReview, title)
	if err != nil {
		return err
	}
	shell.LiveURL = links.LiveReview(around.Cursor, at.key, at.after)
	return web.Render(c, http.StatusOK, view.View(view.Page{Shell: shell, Review: sheet.model()}))
}

// read reads the queue and the job of a place. A job that is no longer
// there is left out.
func (p *Pages) read(ctx context.Context, who tenancy.Principal, at place, snap fleet.Snapshot) (pageData, error) {
	sheet := pageData{place: at, now: web.Now(snap), canWrite: who.Can(tenancy.WriteJobs)}
	var err error
	if sheet.queue, err = p.Screens.ReviewQueue(ctx, who, at.after); err != nil || at.key == "" {
		return sheet, err
	}
	job, err := p.Jobs.Get(ctx, who, at.key)
	if fault.Is(err, fault.NotFound) {
		return sheet, nil
	}
	if err != nil {
		return sheet, err
	}
	sheet.job = &reviewedJob{job: job}
	if sheet.job.attempts, err = p.Attempts.Attempts(ctx, who, job.ID.String()); err != nil {
		return sheet, err
	}
	sheet.job.talk, err = p.Screens.Conversation(ctx, who, job.ID)
	return sheet, err
}

// parts are the live parts of the page at a place.
func (p *Pages) parts(ctx context.Context, who tenancy.Principal, at place) ([]templ.Component, error) {
	snap, err := p.Fleet.Snapshot(ctx, who)
	if err != nil {
		return nil, err
	}
	sheet, err := p.read(ctx, who, at, snap)
	return []templ.Component{view.Live(sheet.model())}, err
}
