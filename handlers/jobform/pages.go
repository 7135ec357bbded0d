// Package jobform is the form of a job and the preview of where it can run.
package jobform

import (
	"context"

	"fleetboard/handlers/web"
	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
	"fleetboard/internal/kanban"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
)

// Deps is what the page needs.
type Deps struct {
	Web    *web.Site
	Jobs   Jobs
	Kanban Kanban
}

// Jobs is what the page asks of jobs.
type Jobs interface {
	Create(ctx context.Context, who tenancy.Principal, from jobs.Origin, in ...jobs.New) (jobs.Created, error)
	Search(ctx context.Context, who tenancy.Principal, query string, limit int) ([]jobs.Job, error)
}

// Kanban is what the page asks of the read model of the board.
type Kanban interface {
	Explain(ctx context.Context, who tenancy.Principal, keyOrID string) (kanban.Explanation, error)
	Fleet(ctx context.Context, who tenancy.Principal) (fleet.Snapshot, error)
	Start(ctx context.Context, who tenancy.Principal, snap fleet.Snapshot, query kanban.StartQuery) (kanban.Start, error)
	NewJobPage(ctx context.Context, who tenancy.Principal,
		ask func(fleet.Snapshot) kanban.StartQuery) (kanban.PageContext, kanban.Start, error)
}

// Pages answers the requests of the page.
type Pages struct{ Deps }

// New returns the page.
func New(d Deps) *Pages { return &Pages{d} }

// Routes are the pages, fragments and actions, each with the permission it needs.
func (p *Pages) Routes() []web.Route {
	return []web.Route{
		web.Get(links.NewJob, tenancy.WriteJobs, p.show),
		web.Post(links.NewJob, tenancy.WriteJobs, p.showDraft),
		web.Post(links.Jobs, tenancy.WriteJobs, p.create),
		web.Get(links.Routing, tenancy.WriteJobs, p.routability),
		web.Post(links.Preview, tenancy.WriteJobs, p.preview),
		web.Get(links.JobSearch, tenancy.ReadBoard, p.search),
	}
}
