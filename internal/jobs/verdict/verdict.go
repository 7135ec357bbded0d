// Package verdict reads what verifiers say of work.
package verdict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// Limits of a verdict; texts in characters.
const (
	MaxFindings = 100
	MaxPath     = 512
	MaxText     = 2000 // of a finding, and of the evidence for an answer
	MaxLine     = 10_000_000
	MaxChecks   = 20
	MaxCommand  = 1000
	MaxDiff     = 200_000 // bytes
	// maxFeedback is how many characters the agent of work that is sent back is told.
	maxFeedback = 20_000
)

// What a verifier says of the work.
const (
	Approve = "approve"
	Changes = "changes"
	Unsure  = "unsure"
)

// Words are what a verdict may be.
var Words = []string{Approve, Changes, Unsure}

// Answers are whether a criterion is met, and Severities how bad a finding is, the worst first.
var (
	Answers    = []string{"yes", "no", "unknown"}
	Severities = []string{"blocker", "major", "minor"}
)

// Verdict is what a verifier says of a commit.
type Verdict struct {
	Verdict  string      `json:"verdict"`
	Criteria []Criterion `json:"criteria"` // one for each of the job's, in their order
	Findings []Finding   `json:"findings"`
	// Seen is what the verifier's program, not its model, saw of the commit; nil where it tells nothing.
	Seen *Seen `json:"seen,omitempty"`
}

// Seen is a commit as git shows it to the program that checked it out for a verifier.
type Seen struct {
	// Diff is what the commit changes since it left the branch that it goes into; "" where that was too long
	// or no text.
	Diff string `json:"diff"`
	// Checks are the commands that ran on it.
	Checks []Check `json:"checks"`
}

// Check is a command that ran on the commit.
type Check struct {
	Command string `json:"command"`
	Passed  bool   `json:"passed"`
}

// Criterion is whether one of the acceptance criteria is met.
type Criterion struct {
	Text     string `json:"text"`
	Met      string `json:"met"`
	Evidence string `json:"evidence"`
}

// Finding is something about a line, or about a whole file where the line is 0.
type Finding struct {
	Path     string `json:"path"`
	Line     int    `json:"line"`
	Severity string `json:"severity"`
	Text     string `json:"text"`
}

// Parse reads a verdict as a model gives it. Validation with the fields, "result.verdict" or
// "result.criteria[2].met": whatever it may not say, and an answer too few or too many for a criterion of
// acceptance. What was seen of the commit is not the model's to tell.
func Parse(result json.RawMessage, acceptance []string) (Verdict, error) {
	v, err := ParseResult(result, acceptance)
	if err == nil && v.Seen != nil {
		err = fault.Invalid("result.seen", "It must be left out: the program tells it.")
	}
	return v, err
}

// ParseResult reads a verdict from the result of a verify job, also what the program has seen of the commit.
// Faults as of Parse.
func ParseResult(result json.RawMessage, acceptance []string) (Verdict, error) {
	var v Verdict
	d := json.NewDecoder(bytes.NewReader(result))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return v, fault.Invalid("result", "It must be a verdict: {verdict, criteria: [{text, met, evidence}], findings: [{path, line, "+
			"severity, text}]} (%s).", strings.TrimPrefix(err.Error(), "json: "))
	}
	p := fault.Problems{}
	if !slices.Contains(Words, v.Verdict) {
		p.Add("result.verdict", "It must be approve, changes or unsure.")
	}
	v.checkCriteria(p, acceptance)
	v.checkFindings(p)
	v.Seen.check(p)
	if v.Verdict == Changes && len(v.Findings) == 0 && !slices.ContainsFunc(v.Criteria, func(c Criterion) bool { return c.Met == "no" }) {
		p.Add("result.verdict", "It must say what to change: with a finding, or a criterion that is not met.")
	}
	return v, p.Err()
}

func (v *Verdict) checkCriteria(p fault.Problems, acceptance []string) {
	if len(v.Criteria) != len(acceptance) {
		p.Add("result.criteria", "It must have an answer for each of the %d criteria of the order, in their order (it has %d).",
			len(acceptance), len(v.Criteria))
		return
	}
	for i, c := range v.Criteria {
		at := fmt.Sprintf("result.criteria[%d]", i)
		if c.Text != acceptance[i] {
			p.Add(at+".text", "It must be the criterion of the order, word by word.")
		}
		if !slices.Contains(Answers, c.Met) {
			p.Add(at+".met", "It must be yes, no or unknown.")
		}
		if p.Text(at+".evidence", c.Evidence, MaxText); c.Met != "unknown" && strings.TrimSpace(c.Evidence) == "" {
			p.Add(at+".evidence", "It must say by what that is known.")
		}
	}
}

func (v *Verdict) checkFindings(p fault.Problems) {
	if len(v.Findings) > MaxFindings {
		p.Add("result.findings", "It must have at most %d entries.", MaxFindings)
		return
	}
	for i, f := range v.Findings {
		at := fmt.Sprintf("result.findings[%d]", i)
		if p.Line(at+".path", f.Path, MaxPath); f.Path == "" {
			p.Add(at+".path", "It must name a file.")
		}
		p.Number(at+".line", f.Line, 0, MaxLine)
		if !slices.Contains(Severities, f.Severity) {
			p.Add(at+".severity", "It must be blocker, major or minor.")
		}
		if p.Text(at+".text", f.Text, MaxText); strings.TrimSpace(f.Text) == "" {
			p.Add(at+".text", "It must not be empty.")
		}
	}
}

func (s *Seen) check(p fault.Problems) {
	if s == nil {
		return
	}
	if len(s.Diff) > MaxDiff {
		p.Add("result.seen.diff", "It must have at most %d bytes; leave out one that is longer.", MaxDiff)
	}
	if len(s.Checks) > MaxChecks {
		p.Add("result.seen.checks", "It must have at most %d entries.", MaxChecks)
		return
	}
	for i, c := range s.Checks {
		at := fmt.Sprintf("result.seen.checks[%d].command", i)
		if p.Line(at, c.Command, MaxCommand); c.Command == "" {
			p.Add(at, "It must name the command.")
		}
	}
}

// Worst returns the severity of the worst finding, "" for none.
func (v Verdict) Worst() string {
	for _, severity := range Severities {
		if slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Severity == severity }) {
			return severity
		}
	}
	return ""
}

// CountUnmet returns how many criteria are not met, or not known to be.
func (v Verdict) CountUnmet() (n int) {
	for _, c := range v.Criteria {
		if c.Met != "yes" {
			n++
		}
	}
	return n
}

// Feedback returns what the agent of the work is told that is sent back: the criteria that are not met,
// then the findings, the worst first.
func (v Verdict) Feedback(by, commit string, round, rounds int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s has verified %s and wants changes (round %d of %d).\n", by, commit, round, rounds)
	for _, c := range v.Criteria {
		if c.Met == "no" {
			fmt.Fprintf(&b, "\nNot met: %s\n%s\n", c.Text, c.Evidence)
		}
	}
	for _, severity := range Severities {
		for _, f := range v.Findings {
			if f.Severity != severity {
				continue
			}
			place := f.Path
			if f.Line > 0 {
				place += fmt.Sprintf(":%d", f.Line)
			}
			fmt.Fprintf(&b, "\n[%s] %s\n%s\n", severity, place, f.Text)
		}
	}
	if text := []rune(b.String()); len(text) > maxFeedback {
		return string(text[:maxFeedback-1]) + "…"
	}
	return b.String()
}
