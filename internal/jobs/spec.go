package jobs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs/globs"
)

// Spec is what people set on a job, when it is created and later. Its fields have the
// API's names; where the log and the column have another one, they have that.
type Spec struct {
	Title               string     `json:"title"`
	Phase               string     `json:"phase"`
	Priority            int        `json:"priority"` // 0..10, higher is sooner
	Factory             string     `json:"factory"`  // the one factory that may run it, "" for any
	Repo                string     `json:"repo"`
	EstimatedComplexity string     `json:"estimated_complexity"`
	EstimatedMinutes    *int       `json:"estimated_minutes"`
	TokenBudget         *int64     `json:"token_budget"`
	BudgetNanos         *int64     `json:"-" log:"budget_nanos"` // what all attempts together may cost, in billionths of a dollar
	Complexity          *int       `json:"complexity"`           // 1..5
	Tier                Tier       `json:"tier"`
	Capabilities        []string   `json:"capabilities"`
	Tags                []string   `json:"tags"`
	Files               []string   `json:"files"`              // globs of the files that it means to touch
	WaitsForChildren    bool       `json:"waits_for_children"` // it cannot be completed while a child is open
	MaxRetries          int        `json:"max_retries"`
	ReviewOverride      *bool      `json:"review_required"` // nil takes the product's policy
	NotBefore           *time.Time `json:"not_before"`      // to the microsecond, as the database keeps it
	Body                string     `json:"body"`
	Acceptance          []string   `json:"acceptance"`
	AcceptanceMet       []bool     `json:"acceptance_met"` // of each criterion, whether a person checked it off
	// DependsOn are keys of the jobs that gate this one; in New and Patch also their ids.
	DependsOn []string `json:"depends_on" log:"-"`
}

// stored returns what is stored of a new job: no list is nil, and sets are sorted.
func (s Spec) stored() Spec {
	s.Title, s.Phase, s.NotBefore = strings.TrimSpace(s.Title), strings.TrimSpace(s.Phase), keepable(s.NotBefore)
	s.Capabilities, s.Tags, s.Files, s.Acceptance = set(s.Capabilities), set(s.Tags), set(s.Files), db.OrEmpty(s.Acceptance)
	s.AcceptanceMet, s.DependsOn = nil, []string{}
	return s
}

// Field is a field of a Spec.
type Field struct {
	Name      string // as the API calls it
	Low, High int    // the range of a number; the most characters of a text, or entries of a list
	Default   int    // what a number is that nobody gave
	check     func(f Field, p fault.Problems, at string, value any)
	index     []int // as reflect.Value.FieldByIndex takes it
}

// Fields are the fields of a Spec.
var Fields = indexed([]Field{
	{Name: "title", High: MaxTitle, check: checkTitle},
	{Name: "body", High: MaxBody, check: checkText},
	{Name: "phase", High: MaxName, check: checkLine},
	{Name: "priority", High: MaxPriority, Default: DefaultPriority, check: checkNumber},
	{Name: "factory", High: MaxName, check: checkName},
	{Name: "repo", High: MaxRepo, check: checkRepo},
	{Name: "estimated_complexity", High: MaxComplexity, check: checkLine},
	{Name: "estimated_minutes", Low: MinEstimate, High: MaxEstimate, check: checkNumber},
	{Name: "token_budget", Low: MinTokenBudget, check: checkTokens},
	{Name: "budget_usd", check: checkBudget},
	{Name: "complexity", Low: MinComplexity, High: MaxComplexityStep, check: checkNumber},
	{Name: "tier", check: checkTier},
	{Name: "capabilities", High: MaxCapabilities, check: checkCapabilities},
	{Name: "tags", High: MaxTags, check: checkTags},
	{Name: "files", High: MaxFiles, check: checkFiles},
	{Name: "waits_for_children", check: checkNothing},
	{Name: "max_retries", High: MaxTries, Default: DefaultMaxRetries, check: checkNumber},
	{Name: "review_required", check: checkNothing},
	{Name: "not_before", check: checkTime},
	{Name: "acceptance", High: MaxAcceptance, check: checkCriteria},
	{Name: "acceptance_met", High: MaxAcceptance, check: checkNothing},
	{Name: "depends_on", High: MaxDependencies, check: checkDependencies},
})

func indexed(fields []Field) []Field {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Spec]()) {
		name := f.Tag.Get("json")
		if name == "-" {
			name = "budget_usd" // an amount of dollars
		}
		fields[slices.IndexFunc(fields, func(g Field) bool { return g.Name == name })].index = f.Index
	}
	return fields
}

// In returns a pointer to the field of a Spec.
func (f Field) In(s *Spec) any { return f.value(s).Addr().Interface() }

func (f Field) value(s *Spec) reflect.Value { return reflect.ValueOf(s).Elem().FieldByIndex(f.index) }

// Clear sets the field to what it is where nobody gave it.
func (f Field) Clear(s *Spec) {
	f.value(s).SetZero()
	if f.Default != 0 {
		f.value(s).SetInt(int64(f.Default))
	}
}

func checkNothing(Field, fault.Problems, string, any) {}

func checkLine(f Field, p fault.Problems, at string, value any) { p.Line(at, *value.(*string), f.High) }
func checkText(f Field, p fault.Problems, at string, value any) { p.Text(at, *value.(*string), f.High) }
func checkName(f Field, p fault.Problems, at string, value any) { p.Name(at, *value.(*string), f.High) }
func checkRepo(f Field, p fault.Problems, at string, value any) { p.Repo(at, *value.(*string), f.High) }

func checkTitle(f Field, p fault.Problems, at string, value any) {
	title := *value.(*string)
	p.Line(at, title, f.High)
	if strings.TrimSpace(title) == "" {
		p.Add(at, "A job needs a title.")
	}
}

func checkNumber(f Field, p fault.Problems, at string, value any) {
	switch n := value.(type) {
	case *int:
		p.Number(at, *n, f.Low, f.High)
	case **int:
		optional(p, at, *n, f.Low, f.High)
	}
}

func checkTokens(f Field, p fault.Problems, at string, value any) {
	if n := *value.(**int64); n != nil && *n < int64(f.Low) {
		p.Add(at, "It must be at least %d (it is %d).", f.Low, *n)
	}
}

func checkBudget(_ Field, p fault.Problems, at string, value any) {
	if n := *value.(**int64); n != nil && (*n < MinBudgetNanos || *n > MaxBudgetNanos) {
		p.Add(at, "It must be an amount of dollars like 12.34, above 0 and at most 1000000000, with at most 9 decimal places.")
	}
}

func checkTier(_ Field, p fault.Problems, at string, value any) {
	if t := *value.(*Tier); t != NoTier && !slices.Contains(Tiers, t) {
		p.Add(at, "It must be small, standard or large.")
	}
}

func checkCapabilities(f Field, p fault.Problems, at string, value any) {
	p.Capabilities(at, *value.(*[]string), f.High)
}

func checkTags(f Field, p fault.Problems, at string, value any) {
	p.List(at, *value.(*[]string), f.High, MaxName)
}

func checkFiles(f Field, p fault.Problems, at string, value any) {
	list := *value.(*[]string)
	p.Files(at, list, f.High, MaxFile)
	if len(list) > f.High {
		return
	}
	for i, entry := range list {
		if text := globs.Check(entry); text != "" && len(entry) <= MaxFile*utf8.UTFMax {
			p.Add(fmt.Sprintf("%s[%d]", at, i), "%s", text)
		}
	}
}

func checkCriteria(f Field, p fault.Problems, at string, value any) {
	p.List(at, *value.(*[]string), f.High, MaxCriterion)
}

func checkDependencies(f Field, p fault.Problems, at string, value any) {
	if len(*value.(*[]string)) > f.High {
		p.Add(at, "It must have at most %d dependencies.", f.High)
	}
}

// checkTime refuses a time that RFC 3339 cannot write in UTC: no answer could ever
// contain it.
func checkTime(_ Field, p fault.Problems, at string, value any) {
	if t := *value.(**time.Time); t != nil {
		if year := t.UTC().Year(); year < 1 || year > 9999 {
			p.Add(at, "Its year must be 1 to 9999 (it is %d).", year)
		}
	}
}

// Patch is an edit by a person of the fields that Set names, as the API calls them; the
// others stay. Version is the version that the editor saw; another one is a conflict.
type Patch struct {
	Spec
	Version int
	Set     []string
}

// sets reports whether the edit sets a field.
func (p Patch) sets(field string) bool { return slices.Contains(p.Set, field) }

// check gathers what is wrong with an edit.
func (p Patch) check() error {
	wrong := fault.Problems{}
	if p.Version < 1 {
		wrong.Add("version", "It must be given: the version that the edit was made on.")
	}
	for _, f := range Fields {
		if p.sets(f.Name) {
			f.check(f, wrong, f.Name, f.In(&p.Spec))
		}
	}
	return wrong.Err()
}

// keepable cuts a time to what a column holds, microseconds: as text it would be
// rounded, and the event would record another one.
func keepable(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	cut := t.Truncate(time.Microsecond)
	return &cut
}
