// Package messages is the page of the message bus: its threads and one of them at length,
// what is for the reader, dead letters, and the search in messages.
package messages

import (
	"github.com/a-h/templ"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/messages"
)

// pages are the page with its forms.
type pages struct {
	*web.Site

	page web.Page[pageData]
}

// New declares the page.
func New(s *web.Site) web.Page[pageData] {
	p := &pages{Site: s}
	p.page = web.Page[pageData]{
		Site: s, Path: links.Messages, Need: tenancy.ReadBoard, Section: layout.SectionMessages, Title: "Messages",
		Read: p.read,
		View: func(shell layout.Shell, d pageData) templ.Component { return view.View(shell, d.pageModel()) },
		Live: web.Live[pageData]{
			View:     func(d pageData) templ.Component { return view.Live(d.model()) },
			Watch:    s.Bus.Watch,
			Ages:     true, // what a transaction keeps back shows later without a sign of its own
			Personal: true, // what somebody has read is theirs
		},
		Actions: []web.Route{
			web.Post(links.SendMessage, tenancy.WriteJobs, p.send),
			web.Post(links.SeenMessages, tenancy.ReadBoard, p.seen),
			web.Post("/messages/dead/:message/redrive", tenancy.RunFleet, p.redrive),
			web.Post("/messages/dead/:message/discard", tenancy.RunFleet, p.discard),
		},
	}
	return p.page
}
