package job

import (
	"strconv"

	"github.com/fleetboard/fleetboard/handlers/reason"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// reason returns the panel that says why the job does not run; nil for one that
// does, or that has nothing left to run for.
func (s pageData) reason() *view.Why {
	j := s.job
	switch {
	case j.Status == jobs.Completed:
		return s.refusal()
	case len(s.Why.Reasons) == 0, j.Lease != nil, j.Status == jobs.Archived:
		return nil
	case j.Status == jobs.Failed:
		return s.failure()
	case j.Status == jobs.Aborted:
		return &view.Why{Icon: "circle-x", Title: reason.ByText(j.Key+" was cancelled",
			tenancy.Credit(j.StatusBy, j.CarriedOutBy), j.LastError).String(), Lines: s.next(screens.Reason{Code: screens.CodeAborted})}
	}
	first := s.Why.Reasons[0]
	shown := reason.Model(j, first, s.now)
	m := &view.Why{Icon: shown.Icon, Tone: shown.Tone, Title: whyTitle(j, first)}
	for _, r := range s.Why.Reasons {
		if r.Code != screens.CodeQuestion { // it stands below, as a whole
			m.Lines = append(m.Lines, reason.Text(j, r, s.now))
		}
		m.Lines = append(m.Lines, s.next(r)...)
		switch r.Code {
		case screens.CodeNoFactory, screens.CodeSeatsTaken, screens.CodeAgentsBusy:
			m.Rows = s.routingRows()
		}
	}
	return m
}

// refusal says that the origin did not take the branch of work that is done; nil where it did.
func (s pageData) refusal() *view.Why {
	for _, r := range s.Why.Reasons {
		if r.Code == screens.CodeDeliveryRefused {
			shown := reason.Model(s.job, r, s.now)
			return &view.Why{Icon: shown.Icon, Tone: shown.Tone, Title: s.job.Key + " is done, and its branch was refused",
				Lines: []ui.Sentence{shown.Text}}
		}
	}
	return nil
}

func (s pageData) failure() *view.Why {
	j := s.job
	m := &view.Why{Icon: "octagon-alert", Tone: ui.Bad, Title: j.Key + " failed"}
	switch {
	case s.Why.Reasons[0].Code == screens.CodeDependencyCycle:
		m.Title += ", it waited for itself"
		m.Lines = append([]ui.Sentence{ui.Text(web.FirstLine(s.Why.Reasons[0].Text, web.MaxQuote))},
			s.next(screens.Reason{Code: screens.CodeDependencyCycle})...)
		return m
	case j.LostCount > j.MaxLost:
		m.Title += ", it was lost too often"
	case j.FailureCount > j.MaxRetries:
		m.Title += ", its retries are used up"
	}
	if line := web.FirstLine(j.LastError, web.MaxQuote); line != "" {
		m.Lines = []ui.Sentence{ui.Text(line)}
	}
	m.Lines = append(m.Lines, s.next(screens.Reason{Code: screens.CodeFailed})...)
	return m
}

// next returns what the reader can do about it, one sentence or none.
func (s pageData) next(why screens.Reason) []ui.Sentence {
	j := s.job
	if !s.canWrite {
		return nil
	}
	switch why.Code {
	case screens.CodeQuestion:
		return []ui.Sentence{ui.Say(ui.Link("Answer it", "#answer"), ui.T(", and the next attempt goes on with your answer"))}
	case screens.CodeInReview:
		return []ui.Sentence{ui.Say(ui.Link("Review it", links.ReviewJob(j.Key, "")), ui.T(" with its changes and checks"))}
	case screens.CodeProductPaused, screens.CodeReviewBacklog, screens.CodeRepoBusy:
		return []ui.Sentence{ui.Say(ui.Link("The settings of "+j.Product, links.Product(j.Product)), ui.T(" decide about this"))}
	case screens.CodeBudget, screens.CodeThrottled:
		return s.nextOfBudget(why)
	case screens.CodeDependencyCycle:
		dependencies := ui.Link("dependencies", links.JobRetryWith(j.Key)+"#dep")
		return []ui.Sentence{ui.Say(ui.T("Take one of its "), dependencies, ui.T(" away, and retry it"))}
	case screens.CodeFailed, screens.CodeAborted:
		if !j.Can(jobs.ByRetry) {
			return []ui.Sentence{ui.Text("The system made it, and decides about the job that it was for")}
		}
		return []ui.Sentence{ui.Say(ui.T("Retry starts it anew, with all its retries. You can also "),
			ui.Link("retry it with changes", links.JobRetryWith(j.Key)))}
	default:
		if mends := reason.Mends(j, why); len(mends) > 0 {
			return []ui.Sentence{append(ui.Say(ui.T("Change its ")), web.AndSpans(mends)...)}
		}
		return nil
	}
}

// nextOfBudget returns what the reader can do about a budget that keeps the job back.
func (s pageData) nextOfBudget(why screens.Reason) []ui.Sentence {
	switch {
	case why.Model != "":
		return []ui.Sentence{ui.Say(ui.Link("Say what it counts as", links.NeedsYou+"#models"), ui.T(", let it pass, or "),
			ui.Link("give it a price", links.PriceForm("", why.Model)))}
	case why.Budget != "":
		return []ui.Sentence{ui.Say(ui.Link("Open "+why.Budget, links.Budget(why.BudgetID.String())), ui.T(" to raise it"))}
	}
	if mends := reason.Mends(s.job, why); len(mends) > 0 {
		return []ui.Sentence{append(ui.Say(ui.T("Change its ")), web.AndSpans(mends)...)}
	}
	return nil
}

// whyTitles are what the panel is headed with, after the job's key.
var whyTitles = map[string]string{
	screens.CodeSeatsTaken:       "waits for a seat",
	screens.CodeCanStart:         "can start now",
	screens.CodeQuestion:         "waits for an answer",
	screens.CodeBlocked:          "is blocked",
	screens.CodePaused:           "is paused",
	screens.CodeThrottled:        "waits for its budget",
	screens.CodeInReview:         "is in review",
	screens.CodeApproved:         "is approved",
	screens.CodeDependencyFailed: "cannot start by itself",
	screens.CodeDependency:       "waits for other jobs",
	screens.CodeNotBefore:        "waits for its time",
	screens.CodeRetryBackoff:     "waits to be tried again",
	screens.CodeRepoBusy:         "waits for its repo",
	screens.CodeReviewBacklog:    "waits for the review",
	screens.CodeProductPaused:    "waits for its product",
	screens.CodeAgentsBusy:       "waits for an agent",
	screens.CodeProviderHeld:     "waits for a provider",
	screens.CodeBudget:           "waits for its budget",
}

func whyTitle(j jobs.Job, r screens.Reason) string {
	title, known := whyTitles[r.Code]
	switch {
	case r.Code == screens.CodeNoFactory:
		return "No live factory can run " + j.Key
	case r.Code == screens.CodeBudget && j.Status == jobs.Paused:
		return j.Key + " is paused by its budget"
	case known:
		return j.Key + " " + title
	}
	return j.Key + " waits"
}

// routingRows says of each factory whether it could run the job.
func (s pageData) routingRows() []view.WhyRow {
	var rows []view.WhyRow
	for _, f := range s.Why.Routing.Eligible {
		rows = append(rows, view.WhyRow{Name: f.Factory.Name, Text: "has all it needs",
			Remark: web.Plural(f.Free, "seat", "seats") + " free"})
	}
	for i, f := range s.Why.Routing.Ineligible {
		row := view.WhyRow{Name: f.Factory.Name, Text: reason.Misfit(f, s.job.Factory), Missing: f.Missing}
		switch {
		case i == 0 && len(s.Why.Routing.Eligible) == 0:
			row.Remark = "nearest miss"
		case len(f.Missing) > 0:
			row.Remark = "misses " + strconv.Itoa(len(f.Missing))
		}
		rows = append(rows, row)
	}
	return rows
}
