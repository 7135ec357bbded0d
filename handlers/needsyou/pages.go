// Package needsyou is the page of what waits for a person: questions, reviews, jobs
// that no live factory can run, and failed ones. What is done about them is sent to
// the routes of the job's page.
package needsyou

import (
	"context"

	"fleetboard/handlers/live"
	"fleetboard/handlers/web"
	"fleetboard/internal/kanban"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
)

// Deps is what the page needs.
type Deps struct {
	Web    *web.Site
	Kanban Kanban
}

// Kanban is what the page asks of the read model of the board.
type Kanban interface {
	NeedsPage(ctx context.Context, who tenancy.Principal) (kanban.NeedsPage, error)
}

// Pages answers the requests of the page.
type Pages struct{ Deps }

// New returns the page.
func New(d Deps) *Pages { return &Pages{d} }

// Routes are the pages, each with the permission it needs.
func (p *Pages) Routes() []web.Route {
	return []web.Route{web.Get(links.NeedsYou, tenancy.ReadBoard, p.show)}
}

// Live is the page among those with a live part.
func (p *Pages) Live() live.Page { return livePage{p} }
