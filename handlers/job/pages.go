// Package job is the page of a job: what it is, why it does not run, its
// attempts, links, history and log, and what people do to it.
package job

import (
	"context"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/handlers/messageparts"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// Deps is what the page needs.
type Deps struct {
	Web      *web.Site
	Dispatch Dispatch
	Fleet    Fleet
	Jobs     Jobs
	Attempts Attempts
	Links    Links
	Logs     Logs
	Screens  Screens
	Messages Messages
	Blobs    messageparts.Blobs
	Registry *live.Registry
	Streams  *live.Streams
	// Turns are those in which a log is read part by part; nil is no limit.
	Turns *quota.Turns
}

// Dispatch is what the page asks of the work of agents.
type Dispatch interface {
	Act(ctx context.Context, who tenancy.Principal, keyOrID string, a actions.Action) (jobs.Job, error)
	Undo(ctx context.Context, who tenancy.Principal, keyOrID string, version int) (jobs.Job, error)
	Usage(ctx context.Context, who tenancy.Principal, job ids.ID, epochs ...int64) (used spend.JobUsage, err error)
	WatchLogs(workspace ids.ID, job ids.ID) (written <-chan struct{}, cancel func())
}

// Fleet is what the page asks of factories and agents.
type Fleet interface {
	Snapshot(ctx context.Context, who tenancy.Principal) (fleet.Snapshot, error)
}

// Jobs is what the page asks of jobs.
type Jobs interface {
	Get(ctx context.Context, who tenancy.Principal, keyOrID string) (jobs.Job, error)
	Patch(ctx context.Context, who tenancy.Principal, keyOrID string, p jobs.Patch) (jobs.Job, error)
	Purge(ctx context.Context, who tenancy.Principal, keyOrID string) error
}

// Attempts is what the page asks of the attempts on jobs.
type Attempts interface {
	AttemptPage(ctx context.Context, who tenancy.Principal, keyOrID string, before int64, limit int) (job jobs.Job,
		list []attempts.Record, more bool, err error)
}

// Links is what the page asks of the links between jobs.
type Links interface {
	Search(ctx context.Context, who tenancy.Principal, query string, limit int) ([]jobs.Job, error)
	Link(ctx context.Context, who tenancy.Principal, job string, dependsOn string, kind jobs.LinkType) (jobs.Job, error)
	LinkParent(ctx context.Context, who tenancy.Principal, child string, parent string, gate bool) (jobs.Job, error)
	Unlink(ctx context.Context, who tenancy.Principal, job string, dependsOn string, kind jobs.LinkType) (jobs.Job, error)
}

// Logs is what the page asks of the log lines of jobs.
type Logs interface {
	Logs(ctx context.Context, who tenancy.Principal, job string, f joblog.Filter) (list []joblog.Line, next string, err error)
	LogsAfter(ctx context.Context, who tenancy.Principal, job ids.ID, after int64, f joblog.Filter) ([]joblog.Line, error)
}

// Screens is what the page asks of the read model of the board.
type Screens interface {
	JobPage(ctx context.Context, who tenancy.Principal, query screens.JobQuery) (screens.JobPage, error)
}

// Messages is what the page asks of messages.
type Messages interface {
	Watch(workspace ids.ID) (changed <-chan struct{}, stop func())
	Newest(ctx context.Context, who tenancy.Principal, thread string, before int64, limit int) ([]bus.Message, error)
}

// Pages answers the requests of the page.
type Pages struct{ Deps }

// New returns the page.
func New(d Deps) *Pages { return &Pages{d} }

// Routes are the pages, fragments and actions, each with the permission it needs.
func (p *Pages) Routes() []web.Route {
	return []web.Route{
		web.Get("/jobs/:key", tenancy.ReadBoard, p.show),
		web.Get("/jobs/:key/panel", tenancy.ReadBoard, p.panel),
		web.Get("/jobs/:key/log", tenancy.ReadBoard, p.showLog),
		web.GetLong("/jobs/:key/log/text", tenancy.ReadBoard, p.downloadLog),
		web.GetLong("/jobs/:key/log/stream", tenancy.ReadBoard, p.streamLog),
		web.Get("/jobs/:key/attempts", tenancy.ReadBoard, p.showAttempts),
		web.Get("/jobs/:key/ask/:action", tenancy.WriteJobs, p.ask),
		web.Post("/jobs/:key/move", tenancy.WriteJobs, p.move),
		web.Post("/jobs/:key/undo", tenancy.WriteJobs, p.undo),
		web.Post("/jobs/:key/tick", tenancy.WriteJobs, p.tick),
		web.Post("/jobs/:key/link", tenancy.WriteJobs, p.link),
		web.Post("/jobs/:key/unlink", tenancy.WriteJobs, p.unlink),
		web.Get("/jobs/:key/linkable", tenancy.ReadBoard, p.linkable),
		web.Post("/jobs/:key/delete", tenancy.Manage, p.delete),
		web.Post("/jobs/:key/:action", tenancy.WriteJobs, p.act),
	}
}

// Live is the page among those with a live part.
func (p *Pages) Live() live.Page { return livePage{p} }
