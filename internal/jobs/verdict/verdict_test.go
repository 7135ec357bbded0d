package verdict_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs/verdict"
)

func TestWhatIsAVerdict(t *testing.T) {
	long := strings.Repeat("x", verdict.MaxText+1)
	one := `{"text": "It works.", "met": "yes", "evidence": "go test"}`
	for result, fields := range map[string]string{
		`{"verdict": "approve", "criteria": [` + one + `], "findings": []}`:                                                       "",
		`{"verdict": "unsure", "criteria": [{"text": "It works.", "met": "unknown", "evidence": ""}]}`:                            "",
		`{"verdict": "changes", "criteria": [{"text": "It works.", "met": "no", "evidence": "it fails"}]}`:                        "",
		`{"verdict": "changes", "criteria": [` + one + `], "findings": [{"path":"a","line":0,"severity":"minor","text":"typo"}]}`: "",
		`{"verdict": "changes", "criteria": [` + one + `]}`:                                                                       "result.verdict",
		`{"verdict": "fine", "criteria": [` + one + `]}`:                                                                          "result.verdict",
		`{"criteria": [` + one + `]}`:                                    "result.verdict",
		`{"verdict": "approve"}`:                                         "result.criteria",
		`{"verdict": "approve", "criteria": [` + one + `, ` + one + `]}`: "result.criteria",
		`{"verdict": "approve", "criteria": [{"text": "It works", "met": "yes", "evidence": "x"}]}`:                         "result.criteria[0].text",
		`{"verdict": "approve", "criteria": [{"text": "It works.", "met": "maybe", "evidence": "x"}]}`:                      "result.criteria[0].met",
		`{"verdict": "approve", "criteria": [{"text": "It works.", "met": "yes", "evidence": " "}]}`:                        "result.criteria[0].evidence",
		`{"verdict": "approve", "criteria": [{"text": "It works.", "met": "yes", "evidence": "` + long + `"}]}`:             "result.criteria[0].evidence",
		`{"verdict": "approve", "criteria": [` + one + `], "findings": [{"path":"","line":-1,"severity":"bad","text":""}]}`: "result.findings[0].line result.findings[0].path result.findings[0].severity result.findings[0].text",
		`{"verdict": "approve", "criteria": [` + one + `], "mood": 1}`:                                                      "result",
		`{"verdict": 3}`: "result",
		`null`:           "result.criteria result.verdict",
		``:               "result",
	} {
		_, err := verdict.Parse([]byte(result), []string{"It works."})
		got := slices.Sorted(keys(fault.From(err)))
		if err == nil {
			got = nil
		}
		if strings.Join(got, " ") != fields {
			t.Errorf("%s: %v; want %q", result, got, fields)
		}
	}
	many := `{"verdict": "unsure", "criteria": [], "findings": [` + strings.TrimSuffix(strings.Repeat(`{"path":"a","line":1,"severity":"minor","text":"x"},`, 101), ",") + `]}`
	if _, err := verdict.Parse([]byte(many), nil); err == nil || fault.From(err).Fields["result.findings"] == "" {
		t.Errorf("101 findings: %v", err)
	}
}

// What a program saw of the commit is not for its model to tell.
func TestOnlyTheProgramTellsWhatItSaw(t *testing.T) {
	for seen, field := range map[string]string{
		`{"diff": "x", "checks": [{"command": "make", "passed": true}]}`:                "",
		`{"diff": "` + strings.Repeat("x", verdict.MaxDiff+1) + `"}`:                    "result.seen.diff",
		`{"checks": [{"command": "", "passed": true}]}`:                                 "result.seen.checks[0].command",
		`{"checks": [{"command": "a\nb"}]}`:                                             "result.seen.checks[0].command",
		`{"checks": [` + strings.Repeat(`{"command": "a"},`, 20) + `{"command": "a"}]}`: "result.seen.checks",
		`{"files": 3}`: "result",
	} {
		result := []byte(`{"verdict": "approve", "criteria": [], "findings": [], "seen": ` + seen + `}`)
		v, err := verdict.ParseResult(result, nil)
		if field == "" && (err != nil || v.Seen.Diff != "x" || !v.Seen.Checks[0].Passed) || field != "" && (err == nil || fault.From(err).Fields[field] == "") {
			t.Errorf("%.80s: %v", seen, err)
		}
		if _, err := verdict.Parse(result, nil); err == nil {
			t.Errorf("a model may say %.80s", seen)
		}
	}
}

func keys(f *fault.Error) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range f.Fields {
			if !yield(k) {
				return
			}
		}
	}
}

func TestFeedbackNamesTheWorstFirst(t *testing.T) {
	v := verdict.Verdict{Verdict: verdict.Changes, Criteria: []verdict.Criterion{{"It is fast.", "no", "3 s"}, {"It works.", "yes", "y"}},
		Findings: []verdict.Finding{{"b.go", 0, "minor", "Typo."}, {"a.go", 7, "blocker", "Wrong."}}}
	want := "bob has verified abc and wants changes (round 1 of 2).\n\nNot met: It is fast.\n3 s\n\n[blocker] a.go:7\nWrong.\n\n[minor] b.go\nTypo.\n"
	if got := v.Feedback("bob", "abc", 1, 2); got != want {
		t.Errorf("it says %q", got)
	}
	v.Findings = slices.Repeat([]verdict.Finding{{"a.go", 1, "major", strings.Repeat("ü", 2000)}}, 50)
	if got := []rune(v.Feedback("bob", "abc", 1, 2)); len(got) != 20_000 {
		t.Errorf("it has %d characters", len(got))
	}
}
