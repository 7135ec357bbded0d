// Package review is the review: the queue of work that was handed in, and the
// decisions about it.
package review

import (
	"context"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// Deps is what the page needs.
type Deps struct {
	Web      *web.Site
	Dispatch Dispatch
	Fleet    Fleet
	Jobs     Jobs
	Attempts Attempts
	Screens  Screens
	Blobs    Blobs
}

// Dispatch is what the page asks of the work of agents.
type Dispatch interface {
	Act(ctx context.Context, who tenancy.Principal, keyOrID string, a actions.Action) (jobs.Job, error)
}

// Fleet is what the page asks of factories and agents.
type Fleet interface {
	Snapshot(ctx context.Context, who tenancy.Principal) (fleet.Snapshot, error)
}

// Jobs is what the page asks of jobs.
type Jobs interface {
	Get(ctx context.Context, who tenancy.Principal, keyOrID string) (jobs.Job, error)
}

// Attempts is what the page asks of the attempts on jobs.
type Attempts interface {
	Attempts(ctx context.Context, who tenancy.Principal, keyOrID string) ([]attempts.Attempt, error)
}

// Screens is what the page asks of the read model of the board.
type Screens interface {
	ReviewQueue(ctx context.Context, who tenancy.Principal, after string) (screens.ReviewQueue, error)
	PageContext(ctx context.Context, who tenancy.Principal) (screens.PageContext, error)
	Conversation(ctx context.Context, who tenancy.Principal, job ids.ID) ([]eventlog.Event, error)
}

// Blobs is what the page asks of contents.
type Blobs interface {
	Open(ctx context.Context, who tenancy.Principal, sum blobs.Sum) (*blobs.Reader, error)
}

// Pages answers the requests of the page.
type Pages struct{ Deps }

// New returns the page.
func New(d Deps) *Pages { return &Pages{d} }

// Routes are the pages, fragments and actions, each with the permission it needs.
func (p *Pages) Routes() []web.Route {
	return []web.Route{
		web.Get(links.Review, tenancy.ReadBoard, p.show),
		web.GetLong("/review/:key/patch", tenancy.ReadBoard, p.downloadPatch),
		web.Post("/review/:key/:action", tenancy.WriteJobs, p.act),
	}
}

// Live is the page among those with a live part.
func (p *Pages) Live() live.Page { return livePage{p} }
