package jobform

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/fleetboard/fleetboard/internal/jobs"
	view "github.com/fleetboard/fleetboard/views/jobform"
)

// field is a field of the form that an edit may change.
type field struct {
	name string
	told string // as the events of a job call it; "" is the name
	text func(*jobForm) *string
	list func(*jobForm) *[]string
	// into takes it from the job that the form asks for into an edit. It reports false
	// where there is no value, so that the field is to be cleared.
	into func(*jobs.Patch, *jobs.New) bool
}

// fields are all of them, in their order on the page.
var fields = []field{
	{name: "title", text: func(f *jobForm) *string { return &f.title },
		into: func(p *jobs.Patch, n *jobs.New) bool { p.Title = &n.Title; return true }},
	{name: "body", text: func(f *jobForm) *string { return &f.body },
		into: func(p *jobs.Patch, n *jobs.New) bool { p.Body = &n.Body; return true }},
	{name: "repo", text: func(f *jobForm) *string { return &f.repo },
		into: func(p *jobs.Patch, n *jobs.New) bool { p.Repo = &n.Repo; return true }},
	{name: "factory", text: func(f *jobForm) *string { return &f.factory },
		into: func(p *jobs.Patch, n *jobs.New) bool { p.Factory = &n.Factory; return true }},
	{name: "engine", told: "capabilities", text: func(f *jobForm) *string { return &f.engine },
		into: func(p *jobs.Patch, n *jobs.New) bool { p.Capabilities = &n.Capabilities; return true }},
	{name: "capabilities", list: func(f *jobForm) *[]string { return &f.capabilities },
		into: func(p *jobs.Patch, n *jobs.New) bool { p.Capabilities = &n.Capabilities; return true }},
	{name: "depends_on", told: "link", list: func(f *jobForm) *[]string { return &f.dependsOn },
		into: func(p *jobs.Patch, n *jobs.New) bool { p.DependsOn = &n.DependsOn; return true }},
	{name: "acceptance", list: func(f *jobForm) *[]string { return &f.acceptance },
		into: func(p *jobs.Patch, n *jobs.New) bool { p.Acceptance = &n.Acceptance; return true }},
	{name: "phase", text: func(f *jobForm) *string { return &f.phase },
		into: func(p *jobs.Patch, n *jobs.New) bool { p.Phase = &n.Phase; return true }},
	{name: "priority", text: func(f *jobForm) *string { return &f.priority },
		into: func(p *jobs.Patch, n *jobs.New) bool { p.Priority = n.Priority; return n.Priority != nil }},
	{name: "max_retries", text: func(f *jobForm) *string { return &f.maxRetries },
		into: func(p *jobs.Patch, n *jobs.New) bool { p.MaxRetries = n.MaxRetries; return n.MaxRetries != nil }},
	{name: "estimated_minutes", text: func(f *jobForm) *string { return &f.estimate },
		into: func(p *jobs.Patch, n *jobs.New) bool {
			p.EstimatedMinutes = n.EstimatedMinutes
			return n.EstimatedMinutes != nil
		}},
	{name: "token_budget", text: func(f *jobForm) *string { return &f.budget },
		into: func(p *jobs.Patch, n *jobs.New) bool { p.TokenBudget = n.TokenBudget; return n.TokenBudget != nil }},
	{name: "budget_usd", told: "budget_nanos", text: func(f *jobForm) *string { return &f.dollars },
		into: func(p *jobs.Patch, n *jobs.New) bool { p.BudgetNanos = n.BudgetNanos; return n.BudgetNanos != nil }},
	{name: "complexity", text: func(f *jobForm) *string { return &f.complexity },
		into: func(p *jobs.Patch, n *jobs.New) bool { p.Complexity = n.Complexity; return n.Complexity != nil }},
	{name: "tier", text: func(f *jobForm) *string { return &f.tier },
		into: func(p *jobs.Patch, n *jobs.New) bool { p.Tier = &n.Tier; return true }},
	{name: "review_required", text: func(f *jobForm) *string { return &f.review },
		into: func(p *jobs.Patch, n *jobs.New) bool {
			p.ReviewRequired = n.ReviewRequired
			return n.ReviewRequired != nil
		}},
	{name: "not_before", text: func(f *jobForm) *string { return &f.notBefore },
		into: func(p *jobs.Patch, n *jobs.New) bool { p.NotBefore = n.NotBefore; return n.NotBefore != nil }},
	{name: "tags", list: func(f *jobForm) *[]string { return &f.tags },
		into: func(p *jobs.Patch, n *jobs.New) bool { p.Tags = &n.Tags; return true }},
}

// needs are the fields that say who may claim the job.
var needs = []string{"repo", "factory", "engine", "capabilities"}

// values are what the field holds.
func (fi field) values(f jobForm) []string {
	if fi.list != nil {
		return *fi.list(&f)
	}
	return []string{*fi.text(&f)}
}

// copy takes the field's values from one form to another.
func (fi field) copy(to *jobForm, from jobForm) {
	if fi.list != nil {
		*fi.list(to) = *fi.list(&from)
		return
	}
	*fi.text(to) = *fi.text(&from)
}

// digest stands for what the field holds. A textarea loses empty lines at its beginning.
func (fi field) digest(f jobForm) string {
	sum := sha256.Sum256([]byte(strings.TrimLeft(strings.Join(fi.values(f), "\x00"), "\n")))
	return hex.EncodeToString(sum[:8])
}

// event is the name that the events of a job have for the field.
func (fi field) event() string {
	if fi.told != "" {
		return fi.told
	}
	return fi.name
}

// label is the name that the page has for the field.
func (fi field) label() string {
	for _, f := range view.Fields {
		if f.Name == fi.name {
			return f.Label
		}
	}
	return fi.name
}

// shown is what the field holds, in words.
func (fi field) shown(f jobForm) string {
	text := strings.Join(fi.values(f), ", ")
	if fi.name == "acceptance" {
		text = strings.Join(fi.values(f), "\n")
	}
	switch {
	case fi.name == "review_required":
		return view.ReviewWords[text]
	case fi.name == "tier":
		return view.TierWords[text]
	case fi.name == "complexity":
		return view.ComplexityWords[text]
	case fi.name == "engine" && text == "":
		return "any"
	case text == "":
		return "empty"
	default:
		return text
	}
}
