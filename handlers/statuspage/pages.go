// Package statuspage is the page of the coordinator: who leads, what it did, and
// its log.
package statuspage

import (
	"context"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/coordinator"
	"github.com/fleetboard/fleetboard/internal/dispatch/recovery"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// Deps is what the page needs.
type Deps struct {
	Web         *web.Site
	Coordinator Coordinator
	Dispatch    Dispatch
	Fleet       Fleet
	Screens     Screens
}

// Coordinator is what the page asks of the leader of the coordination.
type Coordinator interface {
	Logs(ctx context.Context, who tenancy.Principal, f coordinator.LogFilter) (list []coordinator.LogLine, next int64, err error)
	Status(ctx context.Context) (coordinator.Status, error)
}

// Dispatch is what the page asks of the work of agents.
type Dispatch interface {
	Recover(ctx context.Context, who tenancy.Principal) (recovery.Counts, error)
}

// Fleet is what the page asks of factories and agents.
type Fleet interface {
	Snapshot(ctx context.Context, who tenancy.Principal) (fleet.Snapshot, error)
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
		web.Get(links.Status, tenancy.ReadBoard, p.show),
		web.Post(links.Recover, tenancy.RunFleet, p.recover),
	}
}

// Live is the page among those with a live part.
func (p *Pages) Live() live.Page { return livePage{p} }
