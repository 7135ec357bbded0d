// Package verification is what a worker tells an engine that verifies work, and what it takes from it: the
// prompt, and a verdict in the form that the server wants.
package verification

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"unicode"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
	"github.com/fleetboard/fleetboard/internal/jobs/verdict"
	"github.com/fleetboard/fleetboard/internal/redact"
)

const (
	// maxTold is how much of what a check printed a finding has, in bytes.
	maxTold = 1500
	// maxVerdict bounds what an engine says, and maxResult what is reported with what the worker saw, in bytes
	// of JSON: a body has at most 256 KB.
	maxVerdict = 120_000
	maxResult  = 200_000
	// wholeCommit is the path of a finding about no file in particular.
	wholeCommit = "."
)

// Verification is work that is verified. Take, IsGiven and Verdict may be called by several goroutines.
type Verification struct {
	Order api.VerifyOrder
	// Commit is the whole name of what is looked at, Base the commit from which it left its branch, and Diff
	// what is between them.
	Commit, Base string
	Diff         repos.Diff
	Checks       []Check
	// Held are files that instruct agent programs and that lie there as they were before the commit.
	Held []string

	mu    sync.Mutex
	taken *verdict.Verdict // the last one; nil as long as there is none
}

// Check is a check that has run.
type Check struct {
	Command, Printed string
	Err              error // nil where it passed
}

// Take takes what an engine says, in place of what it said before. hide takes secrets out of a text and cuts
// it. The error says which fields are wrong and what they must be; then what was said before stays.
func (v *Verification) Take(raw json.RawMessage, hide func(text string, limit int) string) error {
	if len(raw) > maxVerdict {
		return fmt.Errorf("a verdict must have at most %d bytes (it has %d): say less of each finding", maxVerdict, len(raw))
	}
	said, err := verdict.Parse(raw, v.Order.Acceptance)
	if err != nil {
		return explain(err, v.Order.Acceptance)
	}
	for i := range said.Criteria {
		said.Criteria[i].Evidence = hide(said.Criteria[i].Evidence, verdict.MaxText)
	}
	for i := range said.Findings {
		f := &said.Findings[i]
		f.Path, f.Text = hide(f.Path, verdict.MaxPath), hide(f.Text, verdict.MaxText)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.taken = &said
	return nil
}

// Verdict returns what the engine said last, with the checks that did not pass, and what the worker saw of the
// commit; ok is false where the engine has said nothing. hide is as for Take.
func (v *Verification) Verdict(hide func(text string, limit int) string) (said verdict.Verdict, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.taken == nil {
		return said, false
	}
	said = *v.taken
	said.Findings = addFailed(said.Findings, v.Checks)
	said.Seen = v.see(hide)
	if raw, err := json.Marshal(said); err != nil || len(raw) > maxResult {
		said.Seen.Diff = ""
	}
	return said, true
}

// see returns what the worker has seen of the commit itself. A patch that is not whole is left out: nobody may
// take a part of it for all.
func (v *Verification) see(hide func(text string, limit int) string) *verdict.Seen {
	seen := &verdict.Seen{Checks: []verdict.Check{}}
	if !v.Diff.Truncated && !v.Diff.Mended && len(v.Diff.Patch) <= verdict.MaxDiff {
		seen.Diff = hide(v.Diff.Patch, verdict.MaxDiff)
	}
	for _, c := range v.Checks {
		command := redact.Cut(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}, plain(c.Command)), verdict.MaxCommand)
		seen.Checks = append(seen.Checks, verdict.Check{Command: hide(command, verdict.MaxCommand), Passed: c.Err == nil})
	}
	return seen
}

// IsGiven reports whether the engine has given a verdict.
func (v *Verification) IsGiven() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.taken != nil
}

// addFailed adds to findings that checks did not pass, whatever the verdict is: that is a fact, and stands
// first.
func addFailed(findings []verdict.Finding, checks []Check) []verdict.Finding {
	all := []verdict.Finding{}
	for _, c := range checks {
		if c.Err == nil {
			continue
		}
		text := strings.TrimSpace(c.tell() + "\n\n" + plain(c.Printed[max(0, len(c.Printed)-maxTold):]))
		all = append(all, verdict.Finding{Path: wholeCommit, Severity: verdict.Severities[0], Text: redact.Cut(text, verdict.MaxText)})
	}
	all = append(all, findings...)
	return all[:min(len(all), verdict.MaxFindings)]
}

// tell says whether a check passed.
func (c Check) tell() string {
	if c.Err != nil {
		return fmt.Sprintf("It did not pass: `%s`: %v.", c.Command, c.Err)
	}
	return fmt.Sprintf("It passed: `%s`.", c.Command)
}
