package handlers

import (
	"strconv"

	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
	"fleetboard/internal/kanban"
	"fleetboard/views"
	"fleetboard/views/ui"
)

// reason is the panel that says why the job does not run; nil for one that
// does, or that has nothing left to run for.
func (s jobSheet) reason() *views.Why {
	j := s.job
	switch {
	case len(s.why.Reasons) == 0, j.Lease != nil, j.Status == jobs.Completed, j.Status == jobs.Archived:
		return nil
	case j.Status == jobs.Failed:
		return s.failure()
	case j.Status == jobs.Aborted:
		return &views.Why{Icon: "circle-x", Title: byText(j.Key+" was cancelled", j.StatusBy, j.LastError).String()}
	}
	first := s.why.Reasons[0]
	shown := reasonModel(j, first, s.now)
	m := &views.Why{Icon: shown.Icon, Tone: shown.Tone, Title: whyTitle(j, first)}
	for _, r := range s.why.Reasons {
		m.Lines = append(m.Lines, reasonText(j, r, s.now))
		switch r.Code {
		case kanban.CodeNoFactory, kanban.CodeSeatsTaken, kanban.CodeAgentsBusy:
			m.Rows = s.routingRows()
		}
	}
	return m
}

func (s jobSheet) failure() *views.Why {
	j := s.job
	m := &views.Why{Icon: "octagon-alert", Tone: ui.Bad, Title: j.Key + " failed"}
	switch {
	case s.why.Reasons[0].Code == kanban.CodeDependencyCycle:
		m.Title += ", it waited for itself"
		m.Lines = []ui.Sentence{ui.Text(firstLine(s.why.Reasons[0].Text, maxQuote)), ui.Text("Take one of the links away, then retry it")}
		return m
	case j.LostCount > j.MaxLost:
		m.Title += ", it was lost too often"
	case j.FailureCount > j.MaxRetries:
		m.Title += ", its retries are used up"
	}
	if line := firstLine(j.LastError, maxQuote); line != "" {
		m.Lines = []ui.Sentence{ui.Text(line)}
	}
	return m
}

func whyTitle(j jobs.Job, r kanban.Reason) string {
	switch r.Code {
	case kanban.CodeNoFactory:
		return "No live factory can run " + j.Key
	case kanban.CodeSeatsTaken:
		return j.Key + " waits for a seat"
	case kanban.CodeCanStart:
		return j.Key + " can start now"
	case kanban.CodeQuestion:
		return j.Key + " waits for an answer"
	case kanban.CodeBlocked:
		return j.Key + " is blocked"
	case kanban.CodePaused:
		return j.Key + " is paused"
	case kanban.CodeInReview:
		return j.Key + " is in review"
	case kanban.CodeApproved:
		return j.Key + " is approved"
	case kanban.CodeDependencyFailed:
		return j.Key + " waits for what will not be done"
	case kanban.CodeDependency:
		return j.Key + " waits for other jobs"
	case kanban.CodeNotBefore:
		return j.Key + " waits for its time"
	case kanban.CodeRetryBackoff:
		return j.Key + " waits to be tried again"
	case kanban.CodeRepoBusy:
		return j.Key + " waits for its repo"
	case kanban.CodeReviewBacklog:
		return j.Key + " waits for the review"
	case kanban.CodeProductPaused:
		return j.Key + " waits for its product"
	case kanban.CodeAgentsBusy:
		return j.Key + " waits for an agent"
	default:
		return j.Key + " waits"
	}
}

// routingRows says of each factory whether it could run the job.
func (s jobSheet) routingRows() []views.WhyRow {
	var rows []views.WhyRow
	for _, f := range s.why.Routing.Eligible {
		rows = append(rows, views.WhyRow{Name: f.Factory.Name, Text: "has all it needs", Remark: plural(f.Free, "seat", "seats") + " free"})
	}
	for i, f := range s.why.Routing.Ineligible {
		row := views.WhyRow{Name: f.Factory.Name, Text: misfit(f), Missing: f.Missing}
		switch {
		case i == 0 && len(s.why.Routing.Eligible) == 0:
			row.Remark = "nearest miss"
		case len(f.Missing) > 0:
			row.Remark = "misses " + strconv.Itoa(len(f.Missing))
		}
		rows = append(rows, row)
	}
	return rows
}

// misfit is why a factory cannot run the job, before the list of what it lacks.
func misfit(f fleet.Fit) string {
	switch {
	case f.Reason == fleet.ReasonOtherFactory:
		return "another factory is asked for"
	case f.Reason == fleet.ReasonDraining:
		return "has all it needs, but drains"
	case f.Reason == fleet.ReasonDead:
		return "has all it needs, but is dead"
	case !f.Factory.Live():
		return "is dead, and lacks"
	default:
		return "lacks"
	}
}
