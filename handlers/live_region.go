package handlers

import (
	"context"
	"slices"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/fault"
	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
	"fleetboard/internal/kanban"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
)

// region is the live part of one kind of page.
type region interface {
	// change gives the parts that an update changes.
	change(ctx context.Context, u *kanban.Update) (news, error)
	// refresh reads again what follows from changes.
	refresh(ctx context.Context) ([]templ.Component, error)
	// ages reports whether the part is to be refreshed with each heartbeat.
	ages() bool
}

// news is what an update means for a page.
type news struct {
	parts []templ.Component
	later bool // the region is to be refreshed soon
	reset bool // the page is to fetch itself again
}

func (s *Server) regionOf(c echo.Context, who tenancy.Principal, snap fleet.Snapshot) (region, error) {
	ctx := c.Request().Context()
	switch c.QueryParam("on") {
	case "board":
		name, err := s.Web.WorkspaceName(ctx, who)
		l := look{filter: parseFilter(c.QueryParams()), canWrite: who.Can(tenancy.WriteJobs), now: web.Now(snap), snap: snap}
		return &liveBoard{server: s, who: who, look: l, workspace: name, first: s.Web.FirstRun(c, who, snap), empty: c.QueryParam(emptyParam) != ""}, err
	case "job":
		sheet, err := s.readJob(ctx, who, c.QueryParam("job"), 0)
		r := &liveJob{server: s, who: who, id: sheet.job.ID}
		r.note(sheet)
		return r, err
	case "agents":
		return &liveAgents{server: s, who: who, first: s.Web.FirstRun(c, who, snap)}, nil
	case "review":
		return &liveReview{server: s, who: who, at: reviewPlace{key: c.QueryParam("job"), after: c.QueryParam("page")}}, nil
	case "timeline":
		return s.newLiveTimeline(c, who)
	default:
		return nil, fault.New(fault.NotFound, "There is no such stream.")
	}
}

// merge adds a later update to what was gathered. The update itself belongs to
// all who watch and is left as it is.
func merge(into, u *kanban.Update) {
	if u.Cursor != "" {
		into.Cursor = u.Cursor
	}
	if u.Fleet != nil {
		into.Fleet = u.Fleet
	}
	if u.InReview != nil {
		into.InReview = u.InReview
	}
	into.Rules = into.Rules || u.Rules
	into.Changed = append(into.Changed, u.Changed...)
	for _, c := range u.Cards {
		at := slices.IndexFunc(into.Cards, func(k kanban.Card) bool { return k.Job.ID == c.Job.ID })
		if at < 0 {
			into.Cards = append(into.Cards, c)
		} else {
			into.Cards[at] = c
		}
	}
	for _, p := range u.Touched {
		at := slices.IndexFunc(into.Touched, func(k kanban.ColumnPage) bool { return k.Column == p.Column })
		if at < 0 {
			into.Touched = append(into.Touched, p)
		} else {
			into.Touched[at] = p
		}
	}
	for _, id := range u.Gone {
		if !slices.Contains(into.Gone, id) {
			into.Gone = append(into.Gone, id)
		}
		into.Cards = slices.DeleteFunc(into.Cards, func(c kanban.Card) bool { return c.Job.ID == id })
	}
}

func sameFleet(a, b views.Fleet) bool {
	return a.Free == b.Free && a.More == b.More && slices.Equal(a.Rows, b.Rows)
}

// liveJob is the page of one job.
type liveJob struct {
	server *Server
	who    tenancy.Principal
	id     ids.ID
	near   map[string]bool // keys of the jobs before and after it
	leased bool
	waits  bool // what it waits for may be the fleet
}

func (r *liveJob) note(sheet jobSheet) {
	r.leased, r.near = sheet.job.Lease != nil, map[string]bool{}
	r.waits = !r.leased && !sheet.job.Status.Finished()
	for _, l := range sheet.links {
		r.near[l.Key] = true
	}
}

func (r *liveJob) change(ctx context.Context, u *kanban.Update) (news, error) {
	touched := slices.ContainsFunc(u.Changed, func(ref kanban.Ref) bool { return ref.ID == r.id || r.near[ref.Key] }) ||
		slices.ContainsFunc(u.Cards, func(c kanban.Card) bool { return c.Job.ID == r.id })
	if !touched {
		return news{later: r.waits && opens(u)}, nil
	}
	parts, err := r.refresh(ctx)
	return news{parts: parts}, err
}

// opens reports whether jobs that did not change themselves may be claimed now,
// or no longer: the fleet, a product or a review queue changed.
func opens(u *kanban.Update) bool {
	return u.Fleet != nil || u.Rules || holds(u.Touched, kanban.Review)
}

func (r *liveJob) refresh(ctx context.Context) ([]templ.Component, error) {
	sheet, err := r.server.readJob(ctx, r.who, r.id.String(), 0)
	if err != nil {
		return nil, err
	}
	r.note(sheet)
	return []templ.Component{views.LiveJob(sheet.model())}, nil
}

// ages is for the age of the heartbeat and the end of the lease, which move
// without an event.
func (r *liveJob) ages() bool { return r.leased }

// liveAgents is the page of agents.
type liveAgents struct {
	server *Server
	who    tenancy.Principal
	first  views.FirstRun
}

func (r *liveAgents) change(_ context.Context, u *kanban.Update) (news, error) {
	return news{later: u.Fleet != nil || len(u.Changed) > 0}, nil
}

func (r *liveAgents) refresh(ctx context.Context) ([]templ.Component, error) {
	snap, err := r.server.Fleet.Snapshot(ctx, r.who)
	if err != nil {
		return nil, err
	}
	m, err := r.server.agentsOf(ctx, r.who, snap, r.first)
	return []templ.Component{views.LiveAgents(m)}, err
}

func (r *liveAgents) ages() bool { return true }

// nowOf is the time that an update is shown at: the database's where it came
// with the fleet.
func nowOf(u *kanban.Update) time.Time {
	if u.Fleet != nil {
		return web.Now(*u.Fleet)
	}
	return time.Now()
}
