package autoapprove

import (
	"fmt"
	"slices"
	"strings"
)

// The limits, in the order in which they are told.
const (
	ByPerson   = "person"
	ByCommit   = "commit"
	ByReadable = "readable"
	ByLines    = "lines"
	ByFiles    = "files"
	ByPaths    = "paths"
	ByVerdict  = "verdict"
	ByFindings = "findings"
	ByChecks   = "checks"
)

// Names are all limits.
var Names = []string{ByPerson, ByCommit, ByReadable, ByLines, ByFiles, ByPaths, ByVerdict, ByFindings, ByChecks}

// Facts are what is known of work that waits for a decision.
type Facts struct {
	Change Change
	Commit string
	// Persons are what people have said that keeps the decision theirs, a sentence each.
	Persons []string
	// Verdict is "approve", another one, or "" for none; By is who gave it. Without one the change and the
	// checks are the author's own word.
	Verdict, By string
	Unmet       int    // criteria that the verifier does not say are met
	Worst       string // of the findings: "blocker", "major", "minor" or ""
	// Checks are those that ran on the commit, and Wanted the one that the product wants; "" is any.
	Checks []Check
	Wanted string
}

// Check is a command that ran on a commit.
type Check struct {
	Command string `json:"command"`
	Passed  bool   `json:"passed"`
}

// Limit is what one limit says of work.
type Limit struct {
	Name   string `json:"limit"`
	Passed bool   `json:"passed"`
	Said   string `json:"said"`
}

// Outcome is what all limits say. The work is approved where each lets it pass.
type Outcome struct {
	Passed bool    `json:"passed"`
	Limits []Limit `json:"limits"`
}

// Held returns the limits that hold the work.
func (o Outcome) Held() []Limit {
	return slices.DeleteFunc(slices.Clone(o.Limits), func(l Limit) bool { return l.Passed })
}

// Say returns the sentences of some limits.
func Say(limits []Limit) string {
	said := make([]string, 0, len(limits))
	for _, l := range limits {
		said = append(said, l.Said)
	}
	return strings.Join(said, " ")
}

// Decide returns what the limits say of work, whether or not the policy is switched on.
func (s Settings) Decide(f Facts) Outcome {
	s = s.OrDefault()
	o := Outcome{Passed: true}
	for _, l := range []Limit{f.person(), f.commit(), f.readable(), s.lines(f), s.files(f), s.paths(f), s.verdict(f), f.findings(),
		f.checks()} {
		o.Passed = o.Passed && l.Passed
		o.Limits = append(o.Limits, l)
	}
	return o
}

func say(name string, passed bool, format string, args ...any) Limit {
	return Limit{Name: name, Passed: passed, Said: fmt.Sprintf(format, args...)}
}

func (f Facts) person() Limit {
	if len(f.Persons) > 0 {
		return say(ByPerson, false, "%s", strings.Join(f.Persons, " "))
	}
	return say(ByPerson, true, "Nobody has asked for a person.")
}

func (f Facts) commit() Limit {
	isHex := strings.Trim(f.Commit, "0123456789abcdef") == ""
	if !isHex || len(f.Commit) != 40 && len(f.Commit) != 64 {
		return say(ByCommit, false, "It names no commit in full.")
	}
	return say(ByCommit, true, "It is the commit %s.", f.Commit[:12])
}

func (f Facts) readable() Limit {
	switch {
	case len(f.Change.Unread) > 0:
		return say(ByReadable, false, "A person has to read it: %s.", strings.Join(f.Change.Unread, "; "))
	case len(f.Change.Paths) == 0:
		return say(ByReadable, false, "A person has to read it: nothing was read.")
	}
	if f.Verdict == "" {
		return say(ByReadable, true, "The patch was read whole, as its author handed it in.")
	}
	return say(ByReadable, true, "The patch was read whole, as %s saw it.", f.By)
}

func (s Settings) lines(f Facts) Limit {
	return say(ByLines, f.Change.Lines <= *s.MaxLines, "It changes %d of at most %d lines.", f.Change.Lines, *s.MaxLines)
}

func (s Settings) files(f Facts) Limit {
	return say(ByFiles, len(f.Change.Paths) <= *s.MaxFiles, "It touches %d of at most %d files.", len(f.Change.Paths), *s.MaxFiles)
}

func (s Settings) paths(f Facts) Limit {
	for _, path := range f.Change.Paths {
		if pattern := findDenied(path, s.DenyPaths); pattern != "" {
			return say(ByPaths, false, "It touches %s, which %s denies.", shorten(path), pattern)
		}
	}
	return say(ByPaths, true, "It touches no denied path.")
}

func (s Settings) verdict(f Facts) Limit {
	switch {
	case f.Verdict == "" && *s.RequireVerdict:
		return say(ByVerdict, false, "No verifier has approved it.")
	case f.Verdict == "":
		return say(ByVerdict, true, "No verdict is required.")
	case f.Verdict != "approve":
		return say(ByVerdict, false, "The verdict of %s is %s.", f.By, f.Verdict)
	case f.Unmet > 0:
		return say(ByVerdict, false, "%s says of %d criteria that they are not met, or not known to be.", f.By, f.Unmet)
	}
	return say(ByVerdict, true, "%s has approved it.", f.By)
}

func (f Facts) findings() Limit {
	if f.Worst != "" && f.Worst != "minor" {
		return say(ByFindings, false, "The worst finding is a %s one.", f.Worst)
	}
	return say(ByFindings, true, "No finding is worse than minor.")
}

func (f Facts) checks() Limit {
	ran := false
	for _, c := range f.Checks {
		if !c.Passed {
			return say(ByChecks, false, "The check %s has failed.", c.Command)
		}
		ran = ran || f.Wanted == "" || c.Command == f.Wanted
	}
	switch {
	case !ran && f.Wanted != "":
		return say(ByChecks, false, "The check %s did not run on the commit.", f.Wanted)
	case !ran:
		return say(ByChecks, false, "No check has run on the commit.")
	}
	return say(ByChecks, true, "Its checks are green.")
}
