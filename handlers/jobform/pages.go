// Package jobform is the form of a job and the preview of where it can run.
package jobform

import (
	"context"

	"fleetboard/handlers/web"
	"fleetboard/internal/dispatch/actions"
	"fleetboard/internal/fleet"
	"fleetboard/internal/idempotency"
	"fleetboard/internal/jobs"
	"fleetboard/internal/kanban"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
)

// Deps is what the page needs.
type Deps struct {
	Web      *web.Site
	Jobs     Jobs
	Kanban   Kanban
	Dispatch Dispatch
}

// Jobs is what the page asks of jobs.
type Jobs interface {
	Create(ctx context.Context, who tenancy.Principal, from *idempotency.Key, in ...jobs.New) (jobs.Created, error)
	Key(name string, asked []byte) *idempotency.Key
	Get(ctx context.Context, who tenancy.Principal, keyOrID string) (jobs.Job, error)
	Patch(ctx context.Context, who tenancy.Principal, keyOrID string, p jobs.Patch) (jobs.Job, error)
	Search(ctx context.Context, who tenancy.Principal, query string, limit int) ([]jobs.Job, error)
}

// Dispatch is what the page asks of the work of agents.
type Dispatch interface {
	Act(ctx context.Context, who tenancy.Principal, keyOrID string, a actions.Action) (jobs.Job, error)
}

// Kanban is what the page asks of the read model of the board.
type Kanban interface {
	Explain(ctx context.Context, who tenancy.Principal, keyOrID string) (kanban.Explanation, error)
	Fleet(ctx context.Context, who tenancy.Principal) (fleet.Snapshot, error)
	Start(ctx context.Context, who tenancy.Principal, snap fleet.Snapshot, query kanban.StartQuery) (kanban.Start, error)
	FormPage(ctx context.Context, who tenancy.Principal, query kanban.FormQuery,
		ask func(kanban.FormPage) kanban.StartQuery) (kanban.FormPage, error)
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
		web.Get("/jobs/:key/edit", tenancy.WriteJobs, p.edit),
		web.Post("/jobs/:key/edit", tenancy.WriteJobs, p.save),
		web.Get(links.JobSearch, tenancy.ReadBoard, p.search),
	}
}
