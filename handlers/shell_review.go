package handlers

import (
	"slices"

	"github.com/a-h/templ"

	"fleetboard/handlers/web"
	"fleetboard/internal/jobs"
	"fleetboard/internal/kanban"
	"fleetboard/views"
)

// navNews is what an update changes in the navigation of every page.
func navNews(u *kanban.Update) []templ.Component {
	if u.InReview == nil {
		return nil
	}
	return []templ.Component{views.LiveReviewCount(web.ReviewNumber(*u.InReview))}
}

// aboutReview reports whether a job came to the review, left it, or went on in
// it.
func aboutReview(u *kanban.Update) bool {
	return holds(u.Touched, kanban.Review) || slices.ContainsFunc(u.Cards, func(c kanban.Card) bool {
		return c.Job.Status == jobs.InReview || c.Job.Status == jobs.Approved
	})
}
