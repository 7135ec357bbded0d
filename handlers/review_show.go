package handlers

import (
	"context"
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/fault"
	"fleetboard/internal/fleet"
	"fleetboard/internal/kanban"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
	"fleetboard/views/links"
)

// reviewPlace is what a review page shows: a job, beside a part of the queue.
type reviewPlace struct {
	key   string // of the job, or its id; "" for none
	after string // cursor of the part, "" for the oldest
}

// reviewShow is the page of the jobs that wait for a decision. The address names
// the job: what somebody else decides meanwhile never puts another job under the
// reader's hands. Without one it leads on to the oldest.
func (s *Server) reviewShow(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	at := reviewPlace{key: c.QueryParam("job"), after: c.QueryParam("after")}
	around, err := s.Kanban.Surroundings(ctx, who)
	if err != nil {
		return err
	}
	sheet, err := s.readReview(ctx, who, at, around.Fleet)
	if err != nil {
		return err
	}
	if first := sheet.next(); at.key == "" && first != "" {
		return web.SeeOther(c, links.ReviewOf(first, at.after))
	}
	title := "Review"
	if n := web.ReviewNumber(sheet.queue.Count); n != "" {
		title += " (" + n + ")"
	}
	shell, err := s.Web.Page(c, who, around.Fleet, views.SectionReview, title)
	if err != nil {
		return err
	}
	shell.LiveURL = links.LiveReview(around.Cursor, at.key, at.after)
	return web.Render(c, http.StatusOK, views.ReviewView(views.ReviewPage{Shell: shell, Review: sheet.model()}))
}

// readReview reads the queue and the job of a place. A job that is no longer
// there is left out.
func (s *Server) readReview(ctx context.Context, who tenancy.Principal, at reviewPlace, snap fleet.Snapshot) (reviewSheet, error) {
	sheet := reviewSheet{place: at, now: web.Now(snap), canWrite: who.Can(tenancy.WriteJobs)}
	var err error
	if sheet.queue, err = s.Kanban.ReviewQueue(ctx, who, at.after); err != nil || at.key == "" {
		return sheet, err
	}
	job, err := s.Jobs.Get(ctx, who, at.key)
	if fault.Is(err, fault.NotFound) {
		return sheet, nil
	}
	if err != nil {
		return sheet, err
	}
	sheet.job = &reviewedJob{job: job}
	if sheet.job.attempts, err = s.Jobs.Attempts(ctx, who, job.ID.String()); err != nil {
		return sheet, err
	}
	sheet.job.talk, err = s.Kanban.Talk(ctx, who, job.ID)
	return sheet, err
}

// reviewParts are the live parts of the page at a place.
func (s *Server) reviewParts(ctx context.Context, who tenancy.Principal, at reviewPlace) ([]templ.Component, error) {
	snap, err := s.Fleet.Snapshot(ctx, who)
	if err != nil {
		return nil, err
	}
	sheet, err := s.readReview(ctx, who, at, snap)
	return []templ.Component{views.LiveReview(sheet.model())}, err
}

// liveReview is the live part of the review page.
type liveReview struct {
	server *Server
	who    tenancy.Principal
	at     reviewPlace
}

// change sends all of it anew, where a job of the review changed.
func (r *liveReview) change(ctx context.Context, u *kanban.Update) (news, error) {
	if !aboutReview(u) {
		return news{}, nil
	}
	parts, err := r.refresh(ctx)
	return news{parts: parts}, err
}

func (r *liveReview) refresh(ctx context.Context) ([]templ.Component, error) {
	return r.server.reviewParts(ctx, r.who, r.at)
}

// ages is false: the browser keeps the ages fresh by itself.
func (r *liveReview) ages() bool { return false }
