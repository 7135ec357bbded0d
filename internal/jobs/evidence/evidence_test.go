package evidence_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/jobs/autoapprove"
	"github.com/fleetboard/fleetboard/internal/jobs/evidence"
	"github.com/fleetboard/fleetboard/internal/jobs/verdict"
)

const (
	patch  = "diff --git a/a.go b/a.go\nindex 1..2 100644\n--- a/a.go\n+++ b/a.go\n@@ -1 +1 @@\n-a\n+b\n"
	commit = "0123456789012345678901234567890123456789"
)

func TestWhatAnAuthorSaysOfItsWork(t *testing.T) {
	s := autoapprove.Settings{RequireVerdict: new(false)}
	for name, c := range map[string]struct {
		change map[string]any
		words  string // of what holds it, "" for nothing
	}{
		"as a worker says it": {nil, ""}, "nothing": {map[string]any{"diff": ""}, "no patch"},
		"cut": {map[string]any{"whole_diff_shown": false}, "was cut"}, "not stored": {map[string]any{"whole_diff_stored": false}, "was cut"},
		"files without a name": {map[string]any{"files_not_named": 3}, "was cut"},
		"other files":          {map[string]any{"files_changed": 2}, "not those of its patch"},
		"other lines":          {map[string]any{"insertions": 7}, "not those of its patch"},
		"conflicts":            {map[string]any{"conflict_markers": []string{"a.go:1"}}, "markers of conflicts"},
		"large files":          {map[string]any{"large_files_missing": []string{"x"}}, "large files"},
		"a red check":          {map[string]any{"check: make test": false}, "make test has failed"},
		"a check that lies":    {map[string]any{"check: make test": "true"}, "make test has failed"},
		"another commit":       {map[string]any{"commit": "main"}, "no commit in full"},
		"another shape":        {map[string]any{"diff": 7}, "cannot be read"},
	} {
		result := map[string]any{"commit": commit, "diff": patch, "files_changed": 1, "insertions": 1, "deletions": 1, "check: make test": true}
		for k, v := range c.change {
			result[k] = v
		}
		raw, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		o := s.Decide(evidence.FromResult(raw, "make test"))
		if o.Passed != (c.words == "") || !strings.Contains(autoapprove.Say(o.Held()), c.words) {
			t.Errorf("%s: passed %v, held by %v", name, o.Passed, o.Held())
		}
	}
}

func TestWhatAVerifierSaw(t *testing.T) {
	v := verdict.Verdict{Verdict: "approve", Seen: &verdict.Seen{Diff: patch, Checks: []verdict.Check{{Command: "make test", Passed: true}}}}
	if o := (autoapprove.Settings{}).Decide(evidence.FromVerdict(v, "bob", commit, "make test")); !o.Passed {
		t.Errorf("held by %v", o.Held())
	}
	v.Seen = nil
	if o := (autoapprove.Settings{}).Decide(evidence.FromVerdict(v, "bob", commit, "make test")); o.Passed || !strings.Contains(autoapprove.Say(o.Held()), "does not say") {
		t.Errorf("where it tells nothing: %v", o)
	}
}
