// Package needsyou is the page of what waits for a person: questions, reviews, jobs
// that no live factory can run, and failed ones. What is done about them is sent to
// the routes of the job's page.
package needsyou

import (
	"context"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/needsyou"
)

// New declares the page.
func New(s *web.Site) web.Page[view.Needs] {
	return web.Page[view.Needs]{
		Site: s, Path: links.NeedsYou, Need: tenancy.ReadBoard, Section: layout.SectionNeedsYou, Title: "Needs you",
		Read: func(ctx context.Context, r web.Request) (view.Needs, error) {
			page, err := s.Screens.NeedsPage(ctx, r.Who, r.Fleet)
			return model(page, r), err
		},
		View: view.View,
		Live: web.Live[view.Needs]{
			View:    view.Live,
			Changes: func(u *screens.Update) bool { return u.Needs != nil || len(u.Changed) > 0 },
		},
	}
}
