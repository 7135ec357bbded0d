// Package jobform is the form of a job and the preview of where it can run.
package jobform

import (
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// Pages answers the requests of the pages.
type Pages struct{ *web.Site }

// New returns the pages.
func New(s *web.Site) *Pages { return &Pages{s} }

// Routes returns the pages, fragments and actions, each with the permission it needs.
func (p *Pages) Routes() []web.Route {
	return []web.Route{
		web.Get(links.NewJob, tenancy.WriteJobs, p.show),
		web.Post(links.NewJob, tenancy.WriteJobs, p.showDraft),
		web.Post(links.Jobs, tenancy.WriteJobs, p.create),
		web.Get(links.Routing, tenancy.WriteJobs, p.routability),
		web.Post(links.Preview, tenancy.WriteJobs, p.preview),
		web.Get("/jobs/:key/edit", tenancy.WriteJobs, p.edit),
		web.Post("/jobs/:key/edit", tenancy.WriteJobs, p.save),
		web.Get(links.JobSearch, tenancy.ReadBoard, p.search),
	}
}
