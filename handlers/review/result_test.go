package review

import (
	"encoding/json"
	"testing"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	view "github.com/fleetboard/fleetboard/views/review"
	"github.com/fleetboard/fleetboard/views/ui"
)

// What fits into a line is shown apart from what does not.
func TestFindingsAreTheShortPartsOfAResult(t *testing.T) {
	got := map[string]view.Finding{}
	for _, f := range parseFindings(json.RawMessage(`{"summary": "no", "commit": "no", "tests": {"passed": 1204, "failed": 0}, "lint": {"errors": 2},
		"race_free": true, "model": "sonnet", "cost_usd": 0.84, "tools": ["go", "git"], "deep": {"a": {"b": 1}},
		"log": [1,2,3,4,5,6,7], "empty": "", "nothing": null}`)) {
		got[f.Name] = f
	}
	for name, want := range map[string]view.Finding{
		"tests": {Text: "failed 0, passed 1,204", Tone: ui.OK}, "lint": {Text: "errors 2", Tone: ui.Warn}, "race free": {Text: "yes", Tone: ui.OK},
		"model": {Text: "sonnet"}, "cost usd": {Text: "0.84"}, "tools": {Text: "go, git"},
	} {
		want.Name = name
		if got[name] != want {
			t.Errorf("%s is %+v, want %+v", name, got[name], want)
		}
		delete(got, name)
	}
	if len(got) != 0 {
		t.Errorf("also shown: %v", got)
	}
}

// Nothing that an agent sends breaks the page.
func FuzzResults(f *testing.F) {
	for _, seed := range []string{`{"diff":"+++ b/a\n@@ -1,2 +1,2 @@\n"}`, `{"tests":{"passed":1}}`, `{"files":[[]]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, result string) {
		parseFindings(json.RawMessage(result))
		findWarnings(json.RawMessage(result), jobparts.ParseChanges(json.RawMessage(result)))
	})
}
