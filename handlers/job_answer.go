package handlers

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/jobs"
	"fleetboard/internal/kanban"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// origin is the page that htmx sent a request from.
type origin struct {
	job    string       // key or id, on a job's page
	agents bool         // on the agents page
	review *reviewPlace // on the review page
	filter links.Filter // on the board, which everything else is taken for
}

func originOf(r *http.Request) origin {
	u, err := url.Parse(web.CurrentPath(r))
	if err != nil {
		return origin{}
	}
	if key, ok := strings.CutPrefix(u.Path, links.Jobs+"/"); ok {
		return origin{job: key}
	}
	if u.Path == links.Review {
		return origin{review: &reviewPlace{key: u.Query().Get("job"), after: u.Query().Get("after")}}
	}
	return origin{agents: u.Path == links.Agents, filter: parseFilter(u.Query())}
}

// shows reports whether the page is the job's own; pages are also found by id.
func (o origin) shows(job jobs.Job) bool { return o.job == job.Key || o.job == job.ID.String() }

// changed answers an action that was done: for htmx the parts of its page that
// the job touched, else the page that the form was on, with a toast. A toast
// that is nil says nothing.
func (s *Server) changed(c echo.Context, who tenancy.Principal, job jobs.Job, toast *ui.Toast, from kanban.Column) error {
	if !web.IsHX(c) {
		return s.goBack(c, toast)
	}
	parts, err := s.partsNow(c, who, job, from)
	if err != nil {
		return err
	}
	if toast != nil {
		parts = append(parts, views.LiveToast(*toast))
	}
	return web.Render(c, http.StatusOK, templ.Join(parts...))
}

// refused answers an action that did not fit the job's present state: that
// state, and a toast that says why.
func (s *Server) refused(c echo.Context, who tenancy.Principal, job jobs.Job, toast ui.Toast) error {
	if !web.IsHX(c) {
		return s.goBack(c, &toast)
	}
	parts, err := s.stateNow(c, who, job)
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusConflict, templ.Join(append(parts, views.LiveToast(toast))...))
}

func (s *Server) goBack(c echo.Context, toast *ui.Toast) error {
	if toast != nil {
		s.Web.SetFlash(c, *toast)
	}
	return web.SeeOther(c, web.BackTo(c, links.Board))
}

// partsNow are the parts of the page that show the job: its own page, the
// agents, or the columns it left and entered.
func (s *Server) partsNow(c echo.Context, who tenancy.Principal, job jobs.Job, from kanban.Column) ([]templ.Component, error) {
	ctx, at := c.Request().Context(), originOf(c.Request())
	switch {
	case at.shows(job):
		return s.jobParts(ctx, who, job)
	case at.review != nil:
		return s.reviewParts(ctx, who, *at.review)
	case at.agents:
		m, err := s.agentsNow(c, who)
		return []templ.Component{views.LiveAgents(m)}, err
	}
	columns := []kanban.Column{from}
	if now := kanban.ColumnOf(job.Status); now != from {
		columns = append(columns, now)
	}
	return s.columnParts(ctx, who, at.filter, columns)
}

// stateNow are the parts of the page that show the job as it is.
func (s *Server) stateNow(c echo.Context, who tenancy.Principal, job jobs.Job) ([]templ.Component, error) {
	ctx, at := c.Request().Context(), originOf(c.Request())
	switch {
	case at.shows(job):
		return s.jobParts(ctx, who, job)
	case at.review != nil:
		return s.reviewParts(ctx, who, *at.review)
	}
	l, err := s.lookNow(ctx, who, at.filter)
	if err != nil {
		return nil, err
	}
	cards, err := s.Kanban.Cards(ctx, who, job.ID)
	if err != nil {
		return nil, err
	}
	if len(cards) == 0 {
		return []templ.Component{views.LiveCardGone(job.Key)}, nil
	}
	return []templ.Component{views.LiveCard(l.card(cards[0]))}, nil
}

func (s *Server) jobParts(ctx context.Context, who tenancy.Principal, job jobs.Job) ([]templ.Component, error) {
	sheet, err := s.readJob(ctx, who, job.ID.String(), 0)
	if err != nil {
		return nil, err
	}
	return []templ.Component{views.LiveJob(sheet.model())}, nil
}

func (s *Server) columnParts(ctx context.Context, who tenancy.Principal, f links.Filter, columns []kanban.Column) ([]templ.Component, error) {
	l, err := s.lookNow(ctx, who, f)
	if err != nil {
		return nil, err
	}
	var parts []templ.Component
	for _, name := range slices.DeleteFunc(columns, func(c kanban.Column) bool { return c == "" }) {
		page, err := s.Kanban.ColumnPage(ctx, who, narrowed(f), name, "")
		if err != nil {
			return nil, err
		}
		parts = append(parts, views.LiveColumn(l.column(page)))
	}
	return parts, nil
}

func (s *Server) lookNow(ctx context.Context, who tenancy.Principal, f links.Filter) (look, error) {
	snap, err := s.Fleet.Snapshot(ctx, who)
	return look{filter: f, canWrite: who.Can(tenancy.WriteJobs), now: web.Now(snap), snap: snap}, err
}
