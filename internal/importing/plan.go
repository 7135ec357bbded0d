package importing

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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
	Action Action   `json:"action"`
	Source string   `json:"source"`
	Line   int      `json:"line"`
	Key    string   `json:"key"`
	Title  string   `json:"title"`
	Fields []string `json:"fields,omitempty"` // that change
	Why    string   `json:"why,omitempty"`    // it is skipped
	Notes  []string `json:"notes,omitempty"`  // what is not taken over as it is

	Job   *apiclient.NewJob   `json:"job,omitempty"`   // to create
	Patch *apiclient.JobPatch `json:"patch,omitempty"` // to send
}

// Difference is what an import does, in the order of the file.
type Difference struct {
	Steps []Step `json:"steps"`
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

// maxAnswer bounds what is read of an answer, in bytes; pageSize is how many jobs a page has.
const (
	maxAnswer = 64 << 20
	pageSize  = 50
)

// Plan compares items with the jobs of the server. A job keeps its source in its key, which
// nobody can change, and is found by the tag of its format.
func Plan(ctx context.Context, to *client.Client, items []Item, target Target) (Difference, error) {
	known := map[string]apiclient.Job{}
	tags := map[string]bool{}
	for _, one := range items {
		tags[tagOf(one.Source)] = true
	}
	for tag := range tags {
		if err := tagged(ctx, to, tag, known); err != nil {
			return Difference{}, err
		}
	}
	p := planner{items: map[string]Item{}, known: known, target: target}
	for _, one := range items {
		p.items[one.Source] = one
	}
	d := Difference{Steps: []Step{}}
	for _, one := range items {
		d.Steps = append(d.Steps, p.step(one))
	}
	breakCircles(d.Steps)
	return d, nil
}

// tagged adds the jobs that have a tag, by their keys.
func tagged(ctx context.Context, to *client.Client, tag string, into map[string]apiclient.Job) error {
	limit, sort := pageSize, apiclient.ListJobsParamsSort("age")
	fields := []apiclient.JobField{"key", "title", "body", "tags", "status", "version"}
	for cursor := (*string)(nil); ; {
		var page apiclient.JobPage
		params := &apiclient.ListJobsParams{Tag: &tag, Limit: &limit, Sort: &sort, Fields: &fields, Cursor: cursor}
		if err := read(&page)(to.ListJobs(ctx, params)); err != nil {
			return err
		}
		for _, job := range page.Items {
			into[job.Key] = job
		}
		if page.NextCursor == "" {
			return nil
		}
		cursor = &page.NextCursor
	}
}

// read reads an answer.
func read(v any) func(*http.Response, error) error {
	return func(answer *http.Response, err error) error {
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }()
		if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(v); err != nil {
			return fmt.Errorf("the answer of the server is none of its API: %w", err)
		}
		return nil
	}
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

type planner struct {
	items  map[string]Item
	known  map[string]apiclient.Job
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

func (p planner) step(one Item) Step {
	s := Step{Source: one.Source, Line: one.Line, Key: KeyOf(one.Source)}
	s.Title = s.cut(one.Title, maxTitle, "title")
	body := s.cut(one.Body, maxBody, "body")
	if fits := fitting(body, maxBytes); len(fits) < len(body) {
		body = strings.TrimSpace(fits)
		s.note("body cut to what a request holds")
	}
	tags := s.tags(one)
	job, there := p.known[s.Key]
	switch {
	case s.Title == "":
		s.skip("has no title")
	case one.Done && !there:
		s.skip("done")
	case there:
		s.compare(job, body, tags)
	default:
		s.Action = Create
		s.Job = &apiclient.NewJob{Key: &s.Key, Title: s.Title, Tags: &tags, Priority: one.Priority, Body: filled(body),
			Kind: filled(s.kind(one.Kind)), Product: filled(p.target.Product), Repo: filled(p.target.Repo)}
		if needs := p.needs(&s, one); len(needs) > 0 {
			s.Job.DependsOn = &needs
		}
	}
	return s
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

func (s *Step) tags(one Item) []string {
	tags := []string{tagOf(one.Source)}
	for _, tag := range one.Tags {
		if tag = s.cut(tag, maxName, "tag"); !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	if len(tags) > maxTags {
		s.note("%d tags left out", len(tags)-maxTags)
		tags = tags[:maxTags]
	}
	return tags
}

// compare finds what of a job differs. Tags that people have added stay.
func (s *Step) compare(job apiclient.Job, body string, tags []string) {
	patch := apiclient.JobPatch{Version: job.Version}
	if job.Title != s.Title {
		patch.Title = &s.Title
		s.Fields = append(s.Fields, "title")
	}
	if job.Body != body {
		patch.Body = &body
		s.Fields = append(s.Fields, "body")
	}
	all := slices.Clone(job.Tags)
	for _, tag := range tags {
		if !slices.Contains(all, tag) && len(all) < maxTags {
			all = append(all, tag)
		}
	}
	if len(all) > len(job.Tags) {
		patch.Tags = &all
		s.Fields = append(s.Fields, "tags")
	}
	switch {
	case len(s.Fields) == 0:
		s.Action = Unchanged
	case job.Status == apiclient.JobStatusWaiting, job.Status == apiclient.JobStatusReady, job.Status == apiclient.JobStatusBlocked:
		s.Action, s.Patch = Change, &patch
	default:
		s.skip("job is " + strings.ReplaceAll(string(job.Status), "_", " "))
	}
}

// needs are the keys of the jobs that an item's job depends on.
func (p planner) needs(s *Step, one Item) []string {
	var keys []string
	for _, source := range one.DependsOn {
		other, listed := p.items[source]
		key := KeyOf(source)
		_, there := p.known[key]
		switch {
		case source == one.Source, slices.Contains(keys, key), listed && other.Done:
		case !there && (!listed || other.Title == ""):
			s.note("depends on %s, which is not there", source)
		case len(keys) == maxDepends:
			s.note("depends on %s, which is more than %d", source, maxDepends)
		default:
			keys = append(keys, key)
		}
	}
	return keys
}

// breakCircles leaves out dependencies of new jobs that lead back to the job.
func breakCircles(steps []Step) {
	at := map[string]int{}
	for i, s := range steps {
		if s.Job != nil {
			at[s.Key] = i
		}
	}
	const open, closed = 1, 2
	state := make([]int, len(steps))
	var visit func(i int)
	visit = func(i int) {
		state[i] = open
		s := &steps[i]
		if s.Job.DependsOn != nil {
			kept := slices.DeleteFunc(*s.Job.DependsOn, func(key string) bool {
				to, isNew := at[key]
				if isNew && state[to] == 0 {
					visit(to)
				}
				if isNew && state[to] == open {
					s.note("does not wait for %s, which waits for it", steps[to].Source)
					return true
				}
				return false
			})
			s.Job.DependsOn = &kept
		}
		state[i] = closed
	}
	for i := range steps {
		if steps[i].Job != nil && state[i] == 0 {
			visit(i)
		}
	}
}
