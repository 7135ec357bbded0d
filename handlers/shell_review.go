package handlers

import (
	"context"
	"slices"
	"strconv"

	"github.com/a-h/templ"

	"fleetboard/internal/jobs"
	"fleetboard/internal/kanban"
	"fleetboard/internal/tenancy"
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
func (s *Server) navNews(ctx context.Context, who tenancy.Principal, u *kanban.Update) ([]templ.Component, error) {
	if !aboutReview(u) {
		return nil, nil
	}
	n, err := s.Kanban.ReviewCount(ctx, who)
	return []templ.Component{views.LiveReviewCount(reviewNumber(n))}, err
}

// aboutReview reports whether a job came to the review, left it, or went on in
// it.
func aboutReview(u *kanban.Update) bool {
	return holds(u.Touched, kanban.Review) || slices.ContainsFunc(u.Cards, func(c kanban.Card) bool {
		return c.Job.Status == jobs.InReview || c.Job.Status == jobs.Approved
	})
}
