// Package timeline is the timeline: all events, the newest first, and how many
// came since.
package timeline

import (
	"context"

	"fleetboard/handlers/live"
	"fleetboard/handlers/web"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/kanban"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
)

// Deps is what the page needs.
type Deps struct {
	Web    *web.Site
	Events Events
	Jobs   Jobs
	Kanban Kanban
}

// Events is what the page asks of the event log.
type Events interface {
	Older(ctx context.Context, who tenancy.Principal, f eventlog.Filter, before eventlog.Cursor,
		limit int) ([]eventlog.Event, eventlog.Cursor, error)
	TailFiltered(ctx context.Context, who tenancy.Principal, f eventlog.Filter, after eventlog.Cursor,
		limit int) ([]eventlog.Event, eventlog.Cursor, error)
}

// Jobs is what the page asks of jobs.
type Jobs interface {
	Get(ctx context.Context, who tenancy.Principal, keyOrID string) (jobs.Job, error)
	Titles(ctx context.Context, who tenancy.Principal, list []ids.ID) (map[ids.ID]string, error)
}

// Kanban is what the page asks of the read model of the board.
type Kanban interface {
	PageContext(ctx context.Context, who tenancy.Principal) (kanban.PageContext, error)
}

// Pages answers the requests of the page.
type Pages struct{ Deps }

// New returns the page.
func New(d Deps) *Pages { return &Pages{d} }

// Routes are the pages, fragments and actions, each with the permission it needs.
func (p *Pages) Routes() []web.Route {
	return []web.Route{
		web.Get(links.Timeline, tenancy.ReadBoard, p.show),
	}
}

// Live is the page among those with a live part.
func (p *Pages) Live() live.Page { return livePage{p} }
