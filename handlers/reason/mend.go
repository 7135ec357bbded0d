package reason

import (
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// The ids of the fields of a job's form that a reason leads to.
const (
	fieldRepo         = "repo"
	fieldFactory      = "factory"
	fieldEngine       = "engine"
	fieldCapabilities = "capabilities"
	fieldDependencies = "dep"
	fieldNotBefore    = "not_before"
	fieldBudget       = "token_budget"
)

// fieldNames are what a sentence calls the fields.
var fieldNames = map[string]string{
	fieldRepo: "repo", fieldFactory: "factory", fieldEngine: "engine", fieldCapabilities: "capabilities",
	fieldDependencies: "dependencies", fieldNotBefore: "time", fieldBudget: "token budget",
}

// TokenField returns the field that takes a token of a factory or an agent.
func TokenField(token string) string {
	switch {
	case strings.HasPrefix(token, "repo:"):
		return fieldRepo
	case strings.HasPrefix(token, "engine:"):
		return fieldEngine
	default:
		return fieldCapabilities
	}
}

// Mends are links to the fields of the job's form whose change ends the wait, none where
// no change does.
func Mends(j jobs.Job, why screens.Reason) (spans []ui.Span) {
	find := table[why.Code].fields
	if find == nil {
		return nil
	}
	fields := find(subject{job: j, why: why})
	for i, field := range fields {
		if !slices.Contains(fields[:i], field) {
			spans = append(spans, ui.Link(fieldNames[field], links.JobEdit(j.Key, field)))
		}
	}
	return spans
}

// always returns the same field for every job.
func always(field string) func(subject) []string {
	return func(subject) []string { return []string{field} }
}

func (s subject) factoryFields() (fields []string) {
	if s.job.Factory != "" && !s.fits() {
		fields = append(fields, fieldFactory)
	}
	for _, token := range s.why.Missing {
		fields = append(fields, TokenField(token))
	}
	return fields
}

func (s subject) budgetFields() []string {
	if s.job.Status == jobs.Paused && s.why.Budget == "" {
		return []string{fieldBudget}
	}
	return nil
}

// Next says what somebody who may change the job can do about the reason, nil for nothing.
func Next(j jobs.Job, why screens.Reason) ui.Sentence {
	if next := table[why.Code].next; next != nil {
		if text := next(subject{job: j, why: why}); text != nil {
			return text
		}
	}
	if mends := Mends(j, why); len(mends) > 0 {
		return append(ui.Say(ui.T("Change its ")), web.JoinSpans(mends)...)
	}
	return nil
}

func (s subject) nextOfProduct() ui.Sentence {
	return ui.Say(ui.Link("The settings of "+s.job.Product, links.Product(s.job.Product)), ui.T(" decide about this"))
}

func (s subject) nextOfStop() ui.Sentence {
	return ui.Say(ui.Link("Release it", links.Stop), ui.T(" once the reason is gone"))
}

func (s subject) nextOfBudget() ui.Sentence {
	switch {
	case s.why.Model != "":
		return ui.Say(ui.Link("Say what it counts as", links.NeedsYou+"#models"), ui.T(", let it pass, or "),
			ui.Link("give it a price", links.PriceForm("", s.why.Model)))
	case s.why.Budget != "":
		return ui.Say(ui.Link("Open "+s.why.Budget, links.Budget(s.why.BudgetID.String())), ui.T(" to raise it"))
	}
	return nil
}

func (s subject) nextOfRetry() ui.Sentence {
	if !s.job.Can(jobs.ByRetry) {
		return ui.Text("The system made it, and decides about the job that it was for")
	}
	return ui.Say(ui.T("Retry starts it anew, with all its retries. You can also "),
		ui.Link("retry it with changes", links.JobRetryWith(s.job.Key)))
}
