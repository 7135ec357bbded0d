package api

import (
	"fmt"
	"strings"
	"time"

	"fleetboard/internal/fleet"
	"fleetboard/internal/kanban"
)

func explanationModel(e kanban.Explanation) Explanation {
	out := Explanation{Status: JobStatus(e.Job.Status), Reasons: []Reasoning{},
		EligibleFactories: eligible(e.Routing), IneligibleFactories: ineligible(e.Routing)}
	for _, r := range e.Reasons {
		out.Reasons = append(out.Reasons, reasonModel(r))
	}
	return out
}

func reasonModel(r kanban.Reason) Reasoning {
	out := Reasoning{Code: r.Code, Detail: sentence(r), Until: utcOrNil(r.Until), Nearest: given(r.Nearest)}
	if len(r.Keys) > 0 {
		out.Jobs = &r.Keys
	}
	if len(r.Missing) > 0 {
		out.Missing = &r.Missing
	}
	if len(r.Factories) > 0 {
		out.Factories, out.Seats, out.FreeSeats = &r.Factories, &r.Seats, &r.Free
	}
	return out
}

// sentence says a reason in words.
func sentence(r kanban.Reason) string {
	switch r.Code {
	case kanban.CodeDependency:
		return "It waits for " + strings.Join(r.Keys, ", ") + "."
	case kanban.CodeNotBefore:
		return "It is not to start before " + moment(r.Until) + "."
	case kanban.CodeRetryBackoff:
		return with("It failed and is tried again after "+moment(r.Until), r.Text)
	case kanban.CodeBudget:
		return "Its budget does not allow it to start."
	case kanban.CodeRepoBusy:
		return "Another job works on its repo."
	case kanban.CodeReviewBacklog:
		return "Too many jobs of its product wait for a review."
	case kanban.CodePaused:
		return with("It is paused", r.Text)
	case kanban.CodeBlocked:
		return with("It is blocked", r.Text)
	case kanban.CodeQuestion:
		return with("The agent asks", r.Text)
	case kanban.CodeNoFactory:
		return noFactory(r)
	case kanban.CodeSeatsTaken:
		return fmt.Sprintf("None of the %d seats that could run it is free, on %s.", r.Seats, strings.Join(r.Factories, ", "))
	case kanban.CodeCanStart:
		return fmt.Sprintf("It can start: %d of %d seats are free, on %s.", r.Free, r.Seats, strings.Join(r.Factories, ", "))
	case kanban.CodeInReview:
		return "Its work was handed in and waits for a review."
	case kanban.CodeApproved:
		return "Its work was approved and waits to be merged."
	}
	return with(r.Code, r.Text)
}

func noFactory(r kanban.Reason) string {
	const none = "No live factory can run it."
	switch {
	case r.Nearest == "":
		return none + " None has registered yet."
	case r.Text == fleet.ReasonDraining:
		return fmt.Sprintf("%s %s could, and takes no new jobs.", none, r.Nearest)
	case r.Text == fleet.ReasonDead:
		return fmt.Sprintf("%s %s was not heard of for too long.", none, r.Nearest)
	case len(r.Missing) > 0:
		return fmt.Sprintf("%s The nearest is %s, which lacks %s.", none, r.Nearest, strings.Join(r.Missing, ", "))
	}
	return fmt.Sprintf("%s It is for one factory only, and the nearest is %s.", none, r.Nearest)
}

// with is a start and, where there are any, somebody's words.
func with(start, words string) string {
	if words == "" {
		return start + "."
	}
	return start + ": " + words
}

func moment(t *time.Time) string {
	if t == nil {
		return "a time that is not set"
	}
	return t.UTC().Format(time.RFC3339)
}
