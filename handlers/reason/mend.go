package reason

import (
	"slices"
	"strings"

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
func Mends(j jobs.Job, why screens.Reason) []ui.Span {
	var fields []string
	switch why.Code {
	case screens.CodeNoFactory:
		if j.Factory != "" && !fits(why) {
			fields = append(fields, fieldFactory)
		}
		for _, token := range why.Missing {
			fields = append(fields, TokenField(token))
		}
	case screens.CodeDependency, screens.CodeDependencyFailed:
		fields = append(fields, fieldDependencies)
	case screens.CodeNotBefore:
		fields = append(fields, fieldNotBefore)
	case screens.CodeBudget:
		if j.Status == jobs.Paused && why.Budget == "" {
			fields = append(fields, fieldBudget)
		}
	}
	var spans []ui.Span
	for i, field := range fields {
		if !slices.Contains(fields[:i], field) {
			spans = append(spans, ui.Link(fieldNames[field], links.JobEdit(j.Key, field)))
		}
	}
	return spans
}
