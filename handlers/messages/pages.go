// Package messages is the page of the message bus: its threads and one of them at length,
// what is for the reader, dead letters, and the search in messages.
package messages

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

// Routes returns the pages and actions, each with the permission it needs.
func (p *Pages) Routes() []web.Route {
	return []web.Route{
		web.Get(links.Messages, tenancy.ReadBoard, p.show),
		web.Post(links.SendMessage, tenancy.WriteJobs, p.send),
		web.Post(links.SeenMessages, tenancy.ReadBoard, p.seen),
		web.Post("/messages/dead/:message/redrive", tenancy.RunFleet, p.redrive),
		web.Post("/messages/dead/:message/discard", tenancy.RunFleet, p.discard),
	}
}

// Live returns the page among those with a live part.
func (p *Pages) Live() live.Page { return livePage{p} }
