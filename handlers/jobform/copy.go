package jobform

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	view "github.com/fleetboard/fleetboard/views/jobform"
	"github.com/fleetboard/fleetboard/views/links"
)

// fillForm is the form as it would have been typed for a job.
func fillForm(j jobs.Job) jobForm {
	f := jobForm{
		title: j.Title, body: j.Body, repo: j.Repo, factory: j.Factory, dependsOn: slices.Clone(j.DependsOn),
		acceptance: slices.Clone(j.Acceptance), tags: slices.Clone(j.Tags), product: j.Product, phase: j.Phase,
		priority: strconv.Itoa(j.Priority), maxRetries: strconv.Itoa(j.MaxRetries), review: "inherit",
	}
	for _, token := range j.Capabilities {
		if engine, is := strings.CutPrefix(token, enginePrefix); is && f.engine == "" {
			f.engine = engine
		} else {
			f.capabilities = append(f.capabilities, token)
		}
	}
	if j.EstimatedMinutes != nil {
		f.estimate = strconv.Itoa(*j.EstimatedMinutes)
	}
	if j.TokenBudget != nil {
		f.budget = strconv.FormatInt(*j.TokenBudget, 10)
	}
	if j.BudgetNanos != nil {
		f.dollars = spend.Nanos(*j.BudgetNanos).USD()
	}
	if j.Complexity != nil {
		f.complexity = strconv.Itoa(*j.Complexity)
	}
	f.tier = string(j.Tier)
	if j.ReviewOverride != nil {
		f.review = map[bool]string{true: "yes", false: "no"}[*j.ReviewOverride]
	}
	if j.NotBefore != nil {
		f.notBefore = j.NotBefore.UTC().Format(notBeforeForms[0])
	}
	return f
}

// copyJob is the form of a new job like another one, and what of that is not copied: a
// time that is over, and inputs that are secret or not one line of text.
func copyJob(j jobs.Job, now time.Time) (jobForm, view.Copy) {
	f := fillForm(j)
	f.key = ids.New().String()
	if j.NotBefore != nil && !j.NotBefore.After(now) {
		f.notBefore = ""
	}
	if f.product == jobs.DefaultProduct {
		f.product = ""
	}
	from := view.Copy{Key: j.Key, URL: links.Job(j.Key), Secrets: j.SecretKeys}
	var inputs map[string]json.RawMessage
	_ = json.Unmarshal(j.InputContext, &inputs) // it is an object
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		var value string
		switch {
		case slices.Contains(j.SecretKeys, name):
		case json.Unmarshal(inputs[name], &value) != nil, strings.ContainsAny(value, "\r\n"), strings.ContainsAny(name, "=\r\n"):
			from.Left = append(from.Left, name)
		default:
			f.inputs += name + "=" + value + "\n"
		}
	}
	return f, from
}
