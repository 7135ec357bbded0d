// Package board is the board: its columns and cards, what narrows it, and its
// live part.
package board

import (
	"github.com/fleetboard/fleetboard/handlers/live"
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
		web.Get(links.Board, tenancy.ReadBoard, p.show),
		web.Get(links.Board+"/column/:column", tenancy.ReadBoard, p.column),
	}
}

// Live returns the page among those with a live part.
func (p *Pages) Live() live.Page { return livePage{p} }
