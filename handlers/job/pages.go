// Package job is the page of a job: what it is, why it does not run, its
// attempts, links, history and log, and what people do to it.
package job

import (
	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Pages answers the requests of the page.
type Pages struct {
	*web.Site
	registry *live.Registry
	streams  *live.Streams
}

// New returns the page.
func New(s *web.Site, registry *live.Registry, streams *live.Streams) *Pages {
	return &Pages{s, registry, streams}
}

// Routes returns the pages, fragments and actions, each with the permission it needs.
func (p *Pages) Routes() []web.Route {
	return []web.Route{
		web.Get("/jobs/:key", tenancy.ReadBoard, p.show),
		web.Get("/jobs/:key/panel", tenancy.ReadBoard, p.panel),
		web.Get("/jobs/:key/log", tenancy.ReadBoard, p.showLog),
		web.GetLong("/jobs/:key/log/text", tenancy.ReadBoard, p.downloadLog),
		web.GetLong("/live/jobs/:key/log", tenancy.ReadBoard, p.streamLog),
		web.Get("/jobs/:key/transcript", tenancy.ReadBoard, p.showTranscript),
		web.Get("/jobs/:key/transcript/text", tenancy.ReadBoard, p.showStepText),
		web.GetLong("/live/jobs/:key/transcript", tenancy.ReadBoard, p.streamTranscript),
		web.Get("/jobs/:key/attempts", tenancy.ReadBoard, p.showAttempts),
		web.Get("/jobs/:key/ask/:action", tenancy.WriteJobs, p.ask),
		web.Post("/jobs/:key/move", tenancy.WriteJobs, p.move),
		web.Post("/jobs/:key/rank", tenancy.WriteJobs, p.rank),
		web.Post("/jobs/:key/undo", tenancy.WriteJobs, p.undo),
		web.Post("/jobs/:key/tick", tenancy.WriteJobs, p.tick),
		web.Post("/jobs/:key/link", tenancy.WriteJobs, p.link),
		web.Post("/jobs/:key/unlink", tenancy.WriteJobs, p.unlink),
		web.Get("/jobs/:key/linkable", tenancy.ReadBoard, p.linkable),
		web.Post("/jobs/:key/delete", tenancy.Manage, p.delete),
		web.Post("/jobs/:key/:action", tenancy.WriteJobs, p.act),
	}
}

// Live returns the page among those with a live part.
func (p *Pages) Live() live.Page { return livePage{p} }
