// Package needsyou is the page of what waits for a person: questions, reviews, jobs
// that no live factory can run, and failed ones. What is done about them is sent to
// the routes of the job's page.
package needsyou

import (
	"context"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// Deps is what the page needs.
type Deps struct {
	Web     *web.Site
	Screens Screens
}

// Screens is what the page asks of the read model of the board.
type Screens interface {
	NeedsPage(ctx context.Context, who tenancy.Principal) (screens.NeedsPage, error)
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
