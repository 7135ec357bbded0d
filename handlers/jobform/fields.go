package jobform

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	view "github.com/fleetboard/fleetboard/views/jobform"
)

// field is a field of the form that an edit may change.
type field struct {
	name string
	told string // as the events of a job call it; "" is the name
	text func(*jobForm) *string
	list func(*jobForm) *[]string
}

// fields are all of them, in their order on the page.
var fields = []field{
	{name: "title", text: func(f *jobForm) *string { return &f.title }},
	{name: "body", text: func(f *jobForm) *string { return &f.body }},
	{name: "repo", text: func(f *jobForm) *string { return &f.repo }},
	{name: "factory", text: func(f *jobForm) *string { return &f.factory }},
	{name: "engine", told: "capabilities", text: func(f *jobForm) *string { return &f.engine }},
	{name: "capabilities", list: func(f *jobForm) *[]string { return &f.capabilities }},
	{name: "depends_on", told: "link", list: func(f *jobForm) *[]string { return &f.dependsOn }},
	{name: "acceptance", list: func(f *jobForm) *[]string { return &f.acceptance }},
	{name: "phase", text: func(f *jobForm) *string { return &f.phase }},
	{name: "priority", text: func(f *jobForm) *string { return &f.priority }},
	{name: "max_retries", text: func(f *jobForm) *string { return &f.maxRetries }},
	{name: "estimated_minutes", text: func(f *jobForm) *string { return &f.estimate }},
	{name: "token_budget", text: func(f *jobForm) *string { return &f.budget }},
	{name: "budget_usd", told: "budget_nanos", text: func(f *jobForm) *string { return &f.dollars }},
	{name: "complexity", text: func(f *jobForm) *string { return &f.complexity }},
	{name: "tier", text: func(f *jobForm) *string { return &f.tier }},
	{name: "review_required", text: func(f *jobForm) *string { return &f.review }},
	{name: "not_before", text: func(f *jobForm) *string { return &f.notBefore }},
	{name: "tags", list: func(f *jobForm) *[]string { return &f.tags }},
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

// of is the name that the job has for the field.
func (fi field) of() string {
	if fi.name == "engine" {
		return "capabilities"
	}
	return fi.name
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
