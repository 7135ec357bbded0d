package handlers

import (
	"slices"
	"strconv"

	"github.com/a-h/templ"

	"fleetboard/internal/jobs"
	"fleetboard/internal/kanban"
	"fleetboard/views"
)

// reviewNumber is the count beside Review in the navigation.
func reviewNumber(n kanban.ReviewCount) string {
	switch {
	case n.Jobs == 0:
		return ""
	case n.Capped:
		return strconv.Itoa(n.Jobs) + "+"
	default:
		return strconv.Itoa(n.Jobs)
	}
}

// navNews is what an update changes in the navigation of every page.
func navNews(u *kanban.Update) []templ.Component {
	if u.InReview == nil {
		return nil
	}
	return []templ.Component{views.LiveReviewCount(reviewNumber(*u.InReview))}
}

// aboutReview reports whether a job came to the review, left it, or went on in
// it.
func aboutReview(u *kanban.Update) bool {
	return holds(u.Touched, kanban.Review) || slices.ContainsFunc(u.Cards, func(c kanban.Card) bool {
		return c.Job.Status == jobs.InReview || c.Job.Status == jobs.Approved
	})
}
