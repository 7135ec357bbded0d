// Package palette is the command palette: it finds jobs, what can be
// done with the one at hand, factories, agents and pages.
package palette

import (
	"context"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/jobsearch"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// Deps is what the page needs.
type Deps struct {
	Web      *web.Site
	Fleet    Fleet
	Jobs     Jobs
	Words    Words
	Messages Messages
}

// Words finds jobs by words of all their texts, and of their logs.
type Words interface {
	Find(ctx context.Context, who tenancy.Principal, words string, limit int) ([]jobsearch.Found, error)
	FindLogs(ctx context.Context, who tenancy.Principal, words string, limit int) ([]jobsearch.Found, error)
}

// Messages is what the page asks of the bus.
type Messages interface {
	Search(ctx context.Context, who tenancy.Principal, words string, f bus.Filter, limit int) ([]bus.Found, error)
}

// Fleet is what the page asks of factories and agents.
type Fleet interface {
	Snapshot(ctx context.Context, who tenancy.Principal) (fleet.Snapshot, error)
}

// Jobs is what the page asks of jobs.
type Jobs interface {
	Get(ctx context.Context, who tenancy.Principal, keyOrID string) (jobs.Job, error)
	Search(ctx context.Context, who tenancy.Principal, query string, limit int) ([]jobs.Job, error)
}

// Pages answers the requests of the page.
type Pages struct{ Deps }

// New returns the page.
func New(d Deps) *Pages { return &Pages{d} }

// Routes are the pages, fragments and actions, each with the permission it needs.
func (p *Pages) Routes() []web.Route {
	return []web.Route{
		web.Get(links.Palette, tenancy.ReadBoard, p.show),
	}
}
