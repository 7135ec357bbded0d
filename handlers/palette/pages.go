// Package palette is the command palette: it finds jobs, what can be
// done with the one at hand, factories, agents and pages.
package palette

import (
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// Pages answers the requests of the page.
type Pages struct{ *web.Site }

// New returns the page.
func New(s *web.Site) *Pages { return &Pages{s} }

// Routes returns the pages, fragments and actions, each with the permission it needs.
func (p *Pages) Routes() []web.Route {
	return []web.Route{
		web.Get(links.Palette, tenancy.ReadBoard, p.show),
	}
}
