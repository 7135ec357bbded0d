// Package timeline is the timeline: all events, the newest first, and how many
// came since.
package timeline

import (
	"context"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// Deps is what the page needs.
type Deps struct {
	Web     *web.Site
	Events  Events
	Jobs    Jobs
	Screens Screens
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

// Screens is what the page asks of the read model of the board.
type Screens interface {
	PageContext(ctx context.Context, who tenancy.Principal) (screens.PageContext, error)
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
