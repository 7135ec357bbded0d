package importing

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"fleetboard/handlers/api/apiclient"
	"fleetboard/internal/client"
)

// Target is where new jobs belong.
type Target struct{ Product, Repo string }

// Action is what an import does with an item.
type Action string

// The actions.
const (
	Create    Action = "create"
	Change    Action = "change"
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
	Why     string        `json:"why,omitempty"`     // it is skipped
	Notes   []string      `json:"notes,omitempty"`   // what is not taken over as it is

	Job   *apiclient.NewJob   `json:"job,omitempty"`   // to create
	Patch *apiclient.JobPatch `json:"patch,omitempty"` // to send

	needs []string // keys of the jobs that the file has it wait for
}

// Difference is what an import does, in the order of the file.
type Difference struct {
	Steps []Step `json:"steps"`
	// Gone are the keys of unfinished jobs of the same sources that the file does not have.
	// Nothing is done with them.
	Gone []string `json:"gone,omitempty"`
}

// Count is how many steps have an action.
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
func Plan(ctx context.Context, to *client.Client, items []Item, target Target) (Difference, error) {
	p := planner{items: map[string]Item{}, target: target}
	for _, one := range items {
		p.items[one.Source] = one
	}
	var err error
	if p.known, err = jobsOf(ctx, to, keysIn(items)); err != nil {
		return Difference{}, err
	}
	d := Difference{Steps: []Step{}}
	if d.Gone, err = goneFrom(ctx, to, items); err != nil {
		return Difference{}, err
	}
	p.ours = map[string]bool{}
	for _, one := range items {
		p.ours[KeyOf(one.Source)] = true
	}
	for _, key := range d.Gone {
		p.ours[key] = true
	}
	for _, one := range items {
		d.Steps = append(d.Steps, p.begin(one))
	}
	breakCircles(d.Steps)
	for i, one := range items {
		p.finish(&d.Steps[i], one)
	}
	return d, nil
}

// tagOf is the tag of all jobs of a format.
func tagOf(source string) string {
	format, _, _ := strings.Cut(source, ":")
	return "import:" + format
}

// KeyOf is the key of a source's job: the end of the source for people, and a hash of all of it.
func KeyOf(source string) string {
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

// onceKey is the idempotency key of a source's job. It says where the job comes from, as far
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
	known  map[string]apiclient.Job // by their keys
	ours   map[string]bool          // keys of all jobs of the same sources
	target Target
}

// The server's limits.
const (
	maxTitle   = 200
	maxBody    = 100_000
	maxTags    = 20
	maxName    = 64
	maxDepends = 100
)

// begin decides what is done with an item, and what its job is to wait for.
func (p planner) begin(one Item) Step {
	s := Step{Source: one.Source, Line: one.Line, Key: KeyOf(one.Source)}
	s.Title = s.cut(one.Title, maxTitle, "title")
	_, there := p.known[s.Key]
	switch {
	case s.Title == "":
		s.skip("has no title")
	case one.Done && !there:
		s.skip("done")
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
	body := s.cut(one.Body, maxBody, "body")
	if fits := fitting(body, maxBytes); len(fits) < len(body) {
		body = strings.TrimSpace(fits)
		s.note("body cut to what a request holds")
	}
	kind := s.kind(one.Kind)
	labels := s.labels(one)
	if job, there := p.known[s.Key]; there {
		p.compare(s, one, job, terms{body: body, kind: kind, labels: labels})
		return
	}
	tags := append([]string{tagOf(one.Source)}, labels...)
	once := onceKey(one.Source)
	s.Job = &apiclient.NewJob{Key: &s.Key, IdempotencyKey: &once, Title: s.Title, Tags: &tags, Priority: one.Priority, Body: filled(body),
		Kind: filled(kind), Product: filled(p.target.Product), Repo: filled(p.target.Repo)}
	if len(s.needs) > 0 {
		s.Job.DependsOn = &s.needs
	}
}

func filled(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (s *Step) skip(why string) { s.Action, s.Why = Skip, why }

func (s *Step) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// noteNew is said once, when the job is made.
func (s *Step) noteNew(format string, args ...any) {
	if s.Action == Create {
		s.note(format, args...)
	}
}

// cut shortens a text to what the server takes.
func (s *Step) cut(text string, most int, what string) string {
	if runes := []rune(text); len(runes) > most {
		s.note("%s cut to %d characters", what, most)
		return strings.TrimSpace(string(runes[:most]))
	}
	return text
}

// fitting is the begin of a text that takes at most so many bytes as JSON.
func fitting(text string, most int) string {
	const longest = 6 // \u2028
	size := 0
	for i, r := range text {
		switch r {
		case '"', '\\', '\n', '\t':
			size += 2
		case '\u2028', '\u2029':
			size += longest
		default:
			size += utf8.RuneLen(r)
		}
		if size > most {
			return text[:i]
		}
	}
	return text
}

// nameForm is what the server takes as the name of a kind.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/@-]*$`)

// kind is the kind of a job; none where the server would refuse it.
func (s *Step) kind(name string) string {
	if name == "" || len(name) <= maxName && nameForm.MatchString(name) {
		return name
	}
	s.note("kind %s left out, it must be a name", name)
	return ""
}

// labels are an item's tags, with room for that of its format.
func (s *Step) labels(one Item) []string {
	const most = maxTags - 1
	var labels []string
	for _, tag := range one.Tags {
		if tag = s.cut(tag, maxName, "tag"); tag != tagOf(one.Source) && !slices.Contains(labels, tag) {
			labels = append(labels, tag)
		}
	}
	if len(labels) > most {
		s.note("%d tags left out", len(labels)-most)
		labels = labels[:most]
	}
	return labels
}

// needs are the keys of the jobs that the file has an item's job wait for.
func (p planner) needs(s *Step, one Item) []string {
	var keys []string
	for _, source := range one.DependsOn {
		other, listed := p.items[source]
		key := KeyOf(source)
		_, there := p.known[key]
		switch {
		case source == one.Source, slices.Contains(keys, key), listed && other.Done:
		case !there && (!listed || other.Title == ""):
			s.noteNew("depends on %s, which is not there", source)
		case len(keys) == maxDepends:
			s.noteNew("depends on %s, which is more than %d", source, maxDepends)
		default:
			keys = append(keys, key)
		}
	}
	return keys
}
