package importing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/api"
)

// Target is where new jobs belong. Drafts are created blocked; nil leaves that to how many
// jobs could start at once.
type Target struct {
	Product, Repo string
	Draft         *bool
}

// maxReady is how many jobs may be ready at once without a word of a person.
const maxReady = 20

// Action is what an import does with an item.
type Action string

// The actions.
const (
	Create    Action = "create"
	Change    Action = "change"
	Cancel    Action = "cancel"
	Unchanged Action = "unchanged"
	Skip      Action = "skip"
)

// Step is the difference between an item and its job.
type Step struct {
	Action  Action        `json:"action"`
	Source  string        `json:"source"`
	Line    int           `json:"line"`
	Key     string        `json:"key"`
	Title   string        `json:"title"`
	Changes []FieldChange `json:"changes,omitempty"` // field by field
	Why     string        `json:"why,omitempty"`     // it is skipped or cancelled
	Notes   []string      `json:"notes,omitempty"`   // what is not taken over as it is

	Job   *api.NewJob   `json:"job,omitempty"`   // to create
	Patch *api.JobPatch `json:"patch,omitempty"` // to send

	version int // of the job that is there

	needs []string // keys of the jobs that the file has it wait for
}

// Difference is what an import does, in the order of the file.
type Difference struct {
	Steps []Step `json:"steps"`
	// Gone are the keys of unfinished jobs of the same sources that the file does not have.
	// Nothing is done with them.
	Gone []string `json:"gone,omitempty"`
	// Ready is how many new jobs could start at once; Draft says that they may not, since
	// all new ones are created blocked.
	Ready int  `json:"ready"`
	Draft bool `json:"draft"`
}

// Count returns how many steps have an action.
func (d Difference) Count(a Action) int {
	n := 0
	for _, s := range d.Steps {
		if s.Action == a {
			n++
		}
	}
	return n
}

// Plan compares items with the jobs of the server. A job keeps its source in its key, which
// nobody can change.
func Plan(ctx context.Context, to *api.Client, items []Item, target Target) (Difference, error) {
	p := planner{items: map[string]Item{}, target: target}
	for _, one := range items {
		p.items[one.Source] = one
	}
	var err error
	if p.known, err = findJobs(ctx, to, keysIn(items)); err != nil {
		return Difference{}, err
	}
	d := Difference{Steps: []Step{}}
	if d.Gone, err = goneFrom(ctx, to, items); err != nil {
		return Difference{}, err
	}
	p.ours = map[string]bool{}
	for _, one := range items {
		p.ours[MakeKey(one.Source)] = true
	}
	for _, key := range d.Gone {
		p.ours[key] = true
	}
	for _, one := range items {
		d.Steps = append(d.Steps, p.begin(one))
	}
	breakCircles(d.Steps)
	for i, one := range items {
		if d.Steps[i].Action == Create && len(d.Steps[i].needs) == 0 && one.Held == "" {
			d.Ready++
		}
	}
	d.Draft = d.Ready > maxReady
	if target.Draft != nil {
		d.Draft = *target.Draft
	}
	p.draft = d.Draft
	for i, one := range items {
		p.finish(&d.Steps[i], one)
	}
	return d, nil
}

// formatTag returns the tag of all jobs of a format.
func formatTag(source string) string {
	format, _, _ := strings.Cut(source, ":")
	return "import:" + format
}

// MakeKey returns the key of a source's job: the end of the source for people, and a hash of all of it.
func MakeKey(source string) string {
	const readable, exact = 30, 12
	hash := sha256.Sum256([]byte(source))
	end := strings.Map(func(r rune) rune {
		if r < 128 {
			return r
		}
		return -1
	}, slug(source[strings.LastIndexAny(source, ":/#")+1:]))
	end = strings.Trim(end[:min(len(end), readable)], "-")
	return strings.TrimPrefix(end+"-"+hex.EncodeToString(hash[:])[:exact], "-")
}

// onceKey returns the idempotency key of a source's job. It says where the job comes from, as far
// as that is readable within the server's limit.
func onceKey(source string) string {
	const most, exact = 200, 12
	key := []rune("import:" + lineText(source))
	if len(key) <= most {
		return string(key)
	}
	hash := sha256.Sum256([]byte(source))
	return string(key[:most]) + " " + hex.EncodeToString(hash[:])[:exact]
}

type planner struct {
	items  map[string]Item
	known  map[string]api.Job // by their keys
	ours   map[string]bool    // keys of all jobs of the same sources
	target Target
	draft  bool
}

// begin decides what is done with an item, and what its job is to wait for.
func (p planner) begin(one Item) Step {
	s := Step{Source: one.Source, Line: one.Line, Key: MakeKey(one.Source)}
	s.Title = s.cut(one.Title, api.MaxNewJobTitle, "title")
	_, there := p.known[s.Key]
	switch {
	case s.Title == "":
		s.skip("has no title")
	case one.Done && !there:
		s.skip(cmp.Or(one.Ending, "done"))
	default:
		s.Action = Unchanged
		if !there {
			s.Action = Create
		}
		s.needs = p.needs(&s, one)
	}
	return s
}

// finish makes the job to create, or what of the job changes.
func (p planner) finish(s *Step, one Item) {
	if s.Action == Skip {
		return
	}
	job, there := p.known[s.Key]
	if one.Done {
		s.end(one, job)
		return
	}
	body := s.cut(withAddress(one), api.MaxNewJobBody, "body")
	if fits := fitting(body, maxBytes); len(fits) < len(body) {
		body = strings.TrimSpace(fits)
		s.note("body cut to what a request holds")
	}
	kind := s.kind(one.Kind)
	labels := s.labels(one)
	accepted := s.criteria(one.Acceptance)
	if there {
		p.compare(s, one, job, terms{body: body, kind: kind, labels: labels, acceptance: accepted})
		return
	}
	tags := append([]string{formatTag(one.Source)}, labels...)
	once := onceKey(one.Source)
	s.Job = &api.NewJob{Key: &s.Key, IdempotencyKey: &once, Title: s.Title, Tags: &tags, Priority: one.Priority, Body: filled(body),
		Kind: filled(kind), Product: filled(p.target.Product), Repo: filled(p.target.Repo)}
	if len(s.needs) > 0 {
		s.Job.DependsOn = &s.needs
	}
	if len(accepted) > 0 {
		s.Job.Acceptance = &accepted
	}
	if n := one.EstimatedMinutes; n != nil && *n > 0 && *n <= api.MaxNewJobEstimatedMinutes {
		s.Job.EstimatedMinutes = n
	}
	switch {
	case one.Held != "":
		s.note("blocked: %s at its source", one.Held)
		s.Job.BlockedReason = filled(s.cut(one.Held+" at its source", api.MaxNewJobBlockedReason, "reason"))
	case p.draft:
		s.Job.BlockedReason = filled(draftReason)
	}
}

// draftReason is why a draft is blocked.
const draftReason = "draft of an import"

// end decides what becomes of the job of an item that is done.
func (s *Step) end(one Item, job api.Job) {
	why := "closed at its source"
	if one.Ending != "" {
		why += ": " + one.Ending
	}
	switch {
	case isFinished(job.Status), job.Status == api.JobStatusFailed:
	case slices.Contains(idle, job.Status):
		s.Action, s.Why, s.version = Cancel, s.cut(why, api.MaxNewJobBlockedReason, "reason"), job.Version
	default:
		s.skip(why + ", but the job is " + strings.ReplaceAll(string(job.Status), "_", " "))
	}
}

// idle are the statuses of jobs that nobody works on.
var idle = []api.JobStatus{
	api.JobStatusWaiting,
	api.JobStatusReady,
	api.JobStatusBlocked,
	api.JobStatusPaused,
}

// withAddress returns an item's text with the address where people read it.
func withAddress(one Item) string {
	if one.URL == "" || strings.Contains(one.Body, one.URL) {
		return one.Body
	}
	return strings.TrimSpace(one.Body + "\n\n" + one.URL)
}

func filled(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// needs returns the keys of the jobs that the file has an item's job wait for.
func (p planner) needs(s *Step, one Item) []string {
	var keys []string
	for _, source := range one.DependsOn {
		other, listed := p.items[source]
		key := MakeKey(source)
		_, there := p.known[key]
		switch {
		case source == one.Source, slices.Contains(keys, key), listed && other.Done:
		case !there && (!listed || other.Title == ""):
			s.noteNew("depends on %s, which is not there", source)
		case len(keys) == api.MaxNewJobDependsOn:
			s.noteNew("depends on %s, which is more than %d", source, api.MaxNewJobDependsOn)
		default:
			keys = append(keys, key)
		}
	}
	return keys
}
