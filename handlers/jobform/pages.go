// Package jobform is the form of a job and the preview of where it can run.
package jobform

import (
	"context"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// Deps is what the page needs.
type Deps struct {
	Web      *web.Site
	Jobs     Jobs
	Screens  Screens
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

// Screens is what the page asks of the read model of the board.
type Screens interface {
	Explain(ctx context.Context, who tenancy.Principal, keyOrID string) (screens.Explanation, error)
	Fleet(ctx context.Context, who tenancy.Principal) (fleet.Snapshot, error)
	Start(ctx context.Context, who tenancy.Principal, snap fleet.Snapshot, query screens.StartQuery) (screens.Start, error)
	FormPage(ctx context.Context, who tenancy.Principal, query screens.FormQuery,
		ask func(screens.FormPage) screens.StartQuery) (screens.FormPage, error)
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
