// Package agents is the page of factories and agents, and what people do to them.
package agents

import (
	"context"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// Deps is what the page needs.
type Deps struct {
	Web      *web.Site
	Dispatch Dispatch
	Fleet    Fleet
	Screens  Screens
}

// Dispatch is what the page asks of the work of agents.
type Dispatch interface {
	RemoveFactory(ctx context.Context, who tenancy.Principal, name string) error
	CutOff(ctx context.Context, who tenancy.Principal, name string, reason string) (fleet.Agent, error)
	Terminate(ctx context.Context, who tenancy.Principal, name string, reason string, graceful bool) (fleet.Agent, error)
}

// Fleet is what the page asks of factories and agents.
type Fleet interface {
	SetDraining(ctx context.Context, who tenancy.Principal, name string, draining bool) (fleet.Factory, error)
	Snapshot(ctx context.Context, who tenancy.Principal) (fleet.Snapshot, error)
}

// Screens is what the page asks of the read model of the board.
type Screens interface {
	Leased(ctx context.Context, who tenancy.Principal) ([]jobs.Job, error)
	PageContext(ctx context.Context, who tenancy.Principal) (screens.PageContext, error)
}

// Pages answers the requests of the page.
type Pages struct{ Deps }

// New returns the page.
func New(d Deps) *Pages { return &Pages{d} }

// Routes are the pages, fragments and actions, each with the permission it needs.
func (p *Pages) Routes() []web.Route {
	return []web.Route{
		web.Get(links.Agents, tenancy.ReadBoard, p.show),
		web.Get(links.AgentPanel, tenancy.ReadBoard, p.panel),
		web.Post("/factories/:name/drain", tenancy.RunFleet, p.factoryDrain),
		web.Post("/factories/:name/undrain", tenancy.RunFleet, p.factoryUndrain),
		web.Post("/factories/:name/remove", tenancy.RunFleet, p.factoryRemove),
		web.Post("/agents/:name/terminate", tenancy.RunFleet, p.agentTerminate),
		web.Post("/agents/:name/cut-off", tenancy.RunFleet, p.agentCutOff),
	}
}

// Live is the page among those with a live part.
func (p *Pages) Live() live.Page { return livePage{p} }
