package importing

import (
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/api"
)

// FieldChange is what becomes of a field: a text, a number or a list of texts.
type FieldChange struct {
	Field string `json:"field"`
	Old   any    `json:"old"`
	New   any    `json:"new"`
}

// terms are what of an item's job the server takes.
type terms struct {
	body, kind string
	labels     []string
	acceptance []string
}

// change notes that a field changes.
func (s *Step) change(field string, before, after any) {
	s.Changes = append(s.Changes, FieldChange{field, before, after})
}

// compare finds what of a job differs. Tags and dependencies that people have added stay, and
// so does a field that the file does not give.
func (p planner) compare(s *Step, one Item, job api.Job, t terms) {
	patch := api.JobPatch{Version: job.Version}
	if job.Title != s.Title {
		patch.Title = &s.Title
		s.change("title", job.Title, s.Title)
	}
	if job.Body != t.body {
		patch.Body = &t.body
		s.change("body", job.Body, t.body)
	}
	if one.Priority != nil && job.Priority != *one.Priority {
		patch.Priority = one.Priority
		s.change("priority", job.Priority, *one.Priority)
	}
	if len(t.acceptance) > 0 && !slices.Equal(job.Acceptance, t.acceptance) {
		patch.Acceptance = &t.acceptance
		s.change("acceptance", job.Acceptance, t.acceptance)
	}
	if t.kind != "" && t.kind != job.Kind {
		s.note("kind stays %s, it cannot become %s", job.Kind, t.kind)
	}
	if all := withTags(job.Tags, t.labels); len(all) > len(job.Tags) {
		patch.Tags = &all
		s.change("tags", job.Tags, all)
	}
	if all := p.waitsFor(s, one, job.DependsOn); !same(all, job.DependsOn) {
		patch.DependsOn = &all
		s.change("depends_on", job.DependsOn, all)
	}
	switch {
	case len(s.Changes) == 0:
	case job.Status == api.JobStatusWaiting, job.Status == api.JobStatusReady, job.Status == api.JobStatusBlocked:
		s.Action, s.Patch = Change, &patch
	default:
		s.skip("job is " + strings.ReplaceAll(string(job.Status), "_", " "))
	}
}

// withTags adds tags, as far as there is space.
func withTags(present, more []string) []string {
	all := slices.Clone(present)
	for _, tag := range more {
		if !slices.Contains(all, tag) && len(all) < api.MaxNewJobTags {
			all = append(all, tag)
		}
	}
	return all
}

// waitsFor returns the dependencies of a job as they are to be: those that the file names and has
// not closed, and those on other work than that of the file's sources.
func (p planner) waitsFor(s *Step, one Item, present []string) []string {
	named := map[string]bool{}
	for _, source := range one.DependsOn {
		named[MakeKey(source)] = !p.items[source].Done || isFinished(p.known[MakeKey(source)].Status)
	}
	all := []string{}
	for _, key := range present {
		if named[key] || !p.ours[key] {
			all = append(all, key)
		}
	}
	for _, key := range s.needs {
		if !slices.Contains(all, key) && len(all) < api.MaxNewJobDependsOn {
			all = append(all, key)
		}
	}
	return all
}

// same reports whether two lists without repetitions have the same texts.
func same(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(one string) bool { return !slices.Contains(b, one) })
}
