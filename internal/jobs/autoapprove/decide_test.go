package autoapprove_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs/autoapprove"
)

const commit = "0123456789012345678901234567890123456789"

// good are facts that every limit lets pass.
func good() autoapprove.Facts {
	return autoapprove.Facts{Change: autoapprove.Change{Paths: []string{"a.go"}, Lines: 50}, Commit: commit, Verdict: "approve", By: "bob",
		Checks: []autoapprove.Check{{Command: "make test", Passed: true}}, Wanted: "make test"}
}

// Each limit alone holds the work, and says why.
func TestEachLimitHolds(t *testing.T) {
	s := autoapprove.Settings{DenyPaths: []string{"infra"}}
	if o := s.Decide(good()); !o.Passed || len(o.Limits) != len(autoapprove.Names) || len(o.Held()) != 0 {
		t.Fatalf("it is held: %v", o.Held())
	}
	for _, c := range []struct {
		change    func(f *autoapprove.Facts)
		by, words string
	}{
		{func(f *autoapprove.Facts) { f.Persons = []string{"Eve sent it back."} }, autoapprove.ByPerson, "Eve sent it back."},
		{func(f *autoapprove.Facts) { f.Commit = "abc" }, autoapprove.ByCommit, "no commit in full"},
		{func(f *autoapprove.Facts) { f.Commit = "" }, autoapprove.ByCommit, "no commit in full"},
		{func(f *autoapprove.Facts) { f.Commit = strings.Repeat("main", 10) }, autoapprove.ByCommit, "no commit in full"},
		{func(f *autoapprove.Facts) { f.Change.Unread = []string{"a.go is no text"} }, autoapprove.ByReadable, "read it: a.go is no text."},
		{func(f *autoapprove.Facts) { f.Change.Paths = nil }, autoapprove.ByReadable, "nothing was read"},
		{func(f *autoapprove.Facts) { f.Change.Lines = 51 }, autoapprove.ByLines, "51 of at most 50 lines"},
		{func(f *autoapprove.Facts) { f.Change.Paths = strings.Split("abcdef", "") }, autoapprove.ByFiles, "6 of at most 5 files"},
		{func(f *autoapprove.Facts) { f.Change.Paths = []string{"infra/x"} }, autoapprove.ByPaths, "infra/x, which infra denies"},
		{func(f *autoapprove.Facts) { f.Verdict = "" }, autoapprove.ByVerdict, "No verifier"},
		{func(f *autoapprove.Facts) { f.Verdict = "unsure" }, autoapprove.ByVerdict, "verdict of bob is unsure"},
		{func(f *autoapprove.Facts) { f.Verdict = "changes" }, autoapprove.ByVerdict, "verdict of bob is changes"},
		{func(f *autoapprove.Facts) { f.Unmet = 2 }, autoapprove.ByVerdict, "2 criteria"},
		{func(f *autoapprove.Facts) { f.Worst = "major" }, autoapprove.ByFindings, "major"},
		{func(f *autoapprove.Facts) { f.Worst = "blocker" }, autoapprove.ByFindings, "blocker"},
		{func(f *autoapprove.Facts) { f.Checks = nil }, autoapprove.ByChecks, "make test did not run"},
		{func(f *autoapprove.Facts) { f.Checks, f.Wanted = nil, "" }, autoapprove.ByChecks, "No check has run"},
		{func(f *autoapprove.Facts) { f.Checks[0].Command = "true" }, autoapprove.ByChecks, "make test did not run"},
		{func(f *autoapprove.Facts) { f.Checks[0].Passed = false }, autoapprove.ByChecks, "make test has failed"},
		{func(f *autoapprove.Facts) { f.Checks = append(f.Checks, autoapprove.Check{Command: "x"}) }, autoapprove.ByChecks, "x has failed"},
	} {
		f := good()
		c.change(&f)
		o := s.Decide(f)
		if held := o.Held(); o.Passed || len(held) != 1 || held[0].Name != c.by || !strings.Contains(autoapprove.Say(held), c.words) {
			t.Errorf("%s: passed %v, held by %v", c.words, o.Passed, held)
		}
	}
	f := good()
	f.Worst = "minor"
	if !s.Decide(f).Passed {
		t.Error("a minor finding holds it")
	}
	f.Verdict, f.By = "", ""
	if o := (autoapprove.Settings{RequireVerdict: new(false)}).Decide(f); !o.Passed || !strings.Contains(autoapprove.Say(o.Limits), "as its author handed it in") {
		t.Errorf("without a verdict, where none is required: %v", o.Limits)
	}
}

// Whatever is added to a change, what was held stays held.
func TestMoreIsNeverLess(t *testing.T) {
	r := newRepo(t)
	var pieces []string
	for _, c := range slices.Concat(hostile, honest) {
		if patch, _ := r.diff(c.do); patch != "" {
			pieces = append(pieces, patch)
		}
	}
	s := limits(t)
	rapid.Check(t, func(t *rapid.T) {
		patch := rapid.SampledFrom(pieces).Draw(t, "patch")
		before := judge(s, patch, commit)
		more := rapid.SampledFrom(pieces).Draw(t, "more")
		at := rapid.IntRange(0, 2).Draw(t, "at")
		with := more + patch
		switch at {
		case 1:
			with = patch + more
		case 2: // a line more in each part
			with = strings.ReplaceAll(patch, "\n+", "\n+ more\n+")
		}
		if after := judge(s, with, commit); after.Passed && !before.Passed {
			t.Fatalf("held by %v, and with more it passes:\n%s", before.Held(), with)
		}
		was, now := autoapprove.Read(patch), autoapprove.Read(with)
		if at < 2 && len(now.Unread) == 0 && (now.Lines < was.Lines || len(now.Paths) < len(was.Paths)) {
			t.Fatalf("%d lines in %v became %d in %v", was.Lines, was.Paths, now.Lines, now.Paths)
		}
	})
}

func TestSettingsAreChecked(t *testing.T) {
	for _, c := range []struct {
		s        autoapprove.Settings
		verified bool
		fields   string
	}{
		{autoapprove.Settings{}, false, ""},
		{autoapprove.Settings{Enabled: true}, true, ""},
		{autoapprove.Settings{Enabled: true}, false, "auto_approve.require_verdict"},
		{autoapprove.Settings{Enabled: true, RequireVerdict: new(false)}, false, ""},
		{autoapprove.Settings{MaxLines: new(0), MaxFiles: new(51)}, false, "auto_approve.max_files auto_approve.max_lines"},
		{autoapprove.Settings{MaxLines: new(501), MaxFiles: new(0)}, false, "auto_approve.max_files auto_approve.max_lines"},
		{autoapprove.Settings{DenyPaths: autoapprove.SuggestDeny()}, false, ""},
		{autoapprove.Settings{DenyPaths: []string{"a/**/b", "**/x", "/a/b/", "a[b-d]?", "{a,b}.go", "[id]"}}, false, ""},
		{autoapprove.Settings{DenyPaths: make([]string, 101)}, false, "auto_approve.deny_paths"},
	} {
		p := fault.Problems{}
		c.s.Check(p, c.verified)
		if got := strings.Join(slices.Sorted(maps.Keys(p)), " "); got != c.fields {
			t.Errorf("%+v: %v", c.s, p)
		}
	}
	for _, odd := range []string{"", " ", "/", "!docs", "a//b", "../x", "a/./b", "a[", "a[b", "{a", "a**", "**a/b", `a\b`, "~x", "a\nb", "é", "a b",
		strings.Repeat("x", 257), strings.Repeat("*a", 17), "a]b{", "\x00"} {
		p := fault.Problems{}
		autoapprove.Settings{DenyPaths: []string{"good", odd}}.Check(p, false)
		if len(p) != 1 || p["auto_approve.deny_paths[1]"] == "" {
			t.Errorf("%q: %v", odd, p)
		}
	}
}
