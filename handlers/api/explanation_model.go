package api

import (
	"fmt"
	"strings"
	"time"

	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
	"fleetboard/internal/kanban"
	"fleetboard/internal/tenancy"
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
	out := Reasoning{Code: r.Code, Detail: sentence(r), Until: utcOrNil(r.Until), Nearest: given(r.Nearest),
		By: actorModel(r.By), CarriedOutBy: actorModel(r.CarriedOutBy)}
	keys := r.Keys
	if len(r.Ended) > 0 {
		keys = nil
		for _, e := range r.Ended {
			keys = append(keys, e.Key)
		}
	}
	if len(keys) > 0 {
		out.Jobs = &keys
	}
	if len(r.Missing) > 0 {
		out.Missing = &r.Missing
	}
	if len(r.Factories) > 0 {
		out.Factories = &r.Factories
	}
	if r.Seats > 0 {
		out.Seats, out.FreeSeats = &r.Seats, &r.Free
	}
	return out
}

// sentence says a reason in words.
func sentence(r kanban.Reason) string {
	switch r.Code {
	case kanban.CodeDependency, kanban.CodeDependencyFailed, kanban.CodeNotBefore, kanban.CodeRetryBackoff,
		kanban.CodeBudget, kanban.CodeRepoBusy, kanban.CodeReviewBacklog, kanban.CodeProductPaused:
		return waitSentence(r)
	case kanban.CodeNoFactory, kanban.CodeSeatsTaken, kanban.CodeAgentsBusy, kanban.CodeCanStart:
		return routeSentence(r)
	case kanban.CodePaused:
		return "It is paused" + byWhom(r) + "."
	case kanban.CodeBlocked:
		return with("It is blocked"+byWhom(r), r.Text)
	case kanban.CodeQuestion:
		return with(orElse(r.By.Name, "The agent")+" asks, since "+moment(r.Since), r.Text)
	case kanban.CodeInReview:
		return "Its work was handed in and waits for a review since " + moment(r.Since) + "."
	case kanban.CodeApproved:
		return "Its work was approved" + byWhom(r) + " and waits to be merged."
	default:
		return lifeSentence(r)
	}
}

// lifeSentence is about a job that runs or is over.
func lifeSentence(r kanban.Reason) string {
	switch r.Code {
	case kanban.CodeClaimed:
		return orElse(r.By.Name, "An agent") + " has claimed it" + onWhich(r.Factories) + " and not started yet."
	case kanban.CodeRunning:
		return orElse(r.By.Name, "An agent") + " works on it" + onWhich(r.Factories) + "."
	case kanban.CodeCompleted:
		return "It is done since " + moment(r.Since) + "."
	case kanban.CodeFailed:
		return with("It has failed and is not tried again unless somebody retries it", r.Text)
	case kanban.CodeDependencyCycle:
		return with("It waited for itself and has failed. Take one of the links away, then retry it", r.Text)
	case kanban.CodeAborted:
		return with("It was cancelled"+byWhom(r), r.Text)
	case kanban.CodeArchived:
		return "It was archived" + byWhom(r) + "."
	}
	return with(strings.ReplaceAll(r.Code, "_", " "), r.Text)
}

func waitSentence(r kanban.Reason) string {
	switch r.Code {
	case kanban.CodeDependency:
		return "It waits for " + orElse(strings.Join(r.Keys, ", "), "other jobs") + "."
	case kanban.CodeDependencyFailed:
		return endedSentence(r.Ended)
	case kanban.CodeNotBefore:
		return "It is not to start before " + moment(r.Until) + "."
	case kanban.CodeRetryBackoff:
		if r.Lost {
			return "Its lease was lost together with others; it is ready again after " + moment(r.Until) + "."
		}
		return with("It failed and is tried again after "+moment(r.Until), r.Text)
	case kanban.CodeRepoBusy:
		return repoSentence(r)
	case kanban.CodeReviewBacklog:
		return backlogSentence(r)
	case kanban.CodeProductPaused:
		return "Its product " + r.Product + " is paused."
	}
	return "Its budget is used up; it goes on once the budget is raised or cleared and somebody resumes it."
}

func repoSentence(r kanban.Reason) string {
	switch {
	case len(r.Keys) == 0:
		return "Another job holds its repo."
	case r.By.Name == "":
		return "Its repo is held by " + r.Keys[0] + ", which no agent has claimed yet."
	}
	return "Its repo is held by " + r.Keys[0] + ", on which " + r.By.Name + " works."
}

func backlogSentence(r kanban.Reason) string {
	switch {
	case r.Limit == 0:
		return "Too many jobs of its product wait for a review."
	case r.Count < r.Limit:
		return fmt.Sprintf("It waited for the review queue of %s, which has room again (%d of %d jobs in review).",
			r.Product, r.Count, r.Limit)
	}
	return fmt.Sprintf("The review queue of %s is full: %d of %d jobs in review.", r.Product, r.Count, r.Limit)
}

// endedWords are how a dependency ended that was not completed.
var endedWords = map[jobs.Status]string{
	jobs.Failed: "failed", jobs.Aborted: "was cancelled", jobs.Archived: "was archived unfinished",
}

func endedSentence(ended []kanban.Ended) string {
	parts := make([]string, len(ended))
	for i, e := range ended {
		parts[i] = e.Key + ", which " + endedWords[e.Status]
	}
	it := "it"
	if len(ended) > 1 {
		it = "them"
	}
	return "It waits for " + strings.Join(parts, ", and for ") + ". Retry " + it + ", or take the link away."
}

func routeSentence(r kanban.Reason) string {
	where := strings.Join(r.Factories, ", ")
	switch r.Code {
	case kanban.CodeSeatsTaken:
		text := fmt.Sprintf("None of the %d seats that could run it is free, on %s", r.Seats, where)
		return with(text, holders(r))
	case kanban.CodeAgentsBusy:
		text := fmt.Sprintf("%d of %d seats are free, on %s, but no agent there can take one more job", r.Free, r.Seats, where)
		return with(text, holders(r))
	case kanban.CodeCanStart:
		return fmt.Sprintf("It can start: %d of %d seats are free, on %s.", r.Free, r.Seats, where)
	}
	return noFactory(r)
}

// holders are the jobs on the seats, "" where they were not read.
func holders(r kanban.Reason) string {
	switch {
	case len(r.Keys) == 0:
		return ""
	case len(r.Keys) == 1 && r.More == 0:
		return r.Keys[0] + " sits on them."
	case r.More > 0:
		return fmt.Sprintf("%s and %d more sit on them.", strings.Join(r.Keys, ", "), r.More)
	}
	return strings.Join(r.Keys, ", ") + " sit on them."
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

func byWhom(r kanban.Reason) string {
	if who := tenancy.Credit(r.By, r.CarriedOutBy); who != "" {
		return " by " + who
	}
	return ""
}

func actorModel(a tenancy.Actor) *Actor {
	if a == (tenancy.Actor{}) {
		return nil
	}
	return &Actor{Kind: string(a.Kind), ID: a.ID, Name: a.Name}
}

func onWhich(factories []string) string {
	if len(factories) == 0 {
		return ""
	}
	return " on " + strings.Join(factories, ", ")
}

func orElse(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

func moment(t *time.Time) string {
	if t == nil {
		return "a time that is not set"
	}
	return t.UTC().Format(time.RFC3339)
}
