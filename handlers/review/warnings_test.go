package review

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
)

// What was left in the work, and what of it is not shown, is said before all else, whether the
// agent says it or the page finds it; nonsense says nothing.
func TestWarningsOfAResult(t *testing.T) {
	marked := quoted("+++ b/a.go\n@@ -1 +1,3 @@\n+<<<<<<< ours\n+=======\n+>>>>>>> theirs\n-x\n")
	for name, c := range map[string]struct {
		result string
		want   []string
	}{
		"nothing":           {`{"diff": "+++ b/a\n@@ -1 +1 @@\n-x\n+y\n", "whole_diff_shown": true}`, nil},
		"markers":           {`{"conflict_markers": ["a.go:3", "b.go:1"]}`, []string{"Markers of a conflict were left in a.go:3, b.go:1."}},
		"many markers":      {`{"conflict_markers": ["1","2","3","4","5","6","7"], "conflict_markers_not_named": 1200}`, []string{"Markers of a conflict were left in 1, 2, 3, 4, 5 and 1,202 more."}},
		"markers unsaid":    {`{"diff": ` + marked + `}`, []string{"Markers of a conflict were left in a.go:1, a.go:3."}},
		"large files":       {`{"large_files_missing": ["big.bin"]}`, []string{"The contents of files of Git LFS were not pushed, since their host does not have them: big.bin."}},
		"files not named":   {`{"files_not_named": 1}`, []string{"1 changed file is not named here."}},
		"not shown":         {`{"whole_diff_shown": false}`, []string{"The changes are too long to be shown whole: the whole patch has all of them."}},
		"not stored":        {`{"whole_diff_shown": false, "whole_diff_stored": false}`, []string{"The changes are too long to be shown or stored whole: the branch has all of them."}},
		"notes":             {`{"notes": ["Submodules are not checked out.", 7, " "]}`, []string{"Submodules are not checked out."}},
		"nonsense":          {`{"conflict_markers": {"a": 1}, "large_files_missing": "x", "files_not_named": -4, "whole_diff_shown": "no", "notes": 3}`, nil},
		"no object":         {`[]`, nil},
		"markers of no use": {`{"conflict_markers": [], "conflict_markers_not_named": 9}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			raw := json.RawMessage(c.result)
			if got := findWarnings(raw, jobparts.ParseChanges(raw)); !slices.Equal(got, c.want) {
				t.Errorf("it says %q", got)
			}
			for _, f := range parseFindings(raw) {
				t.Errorf("it also says %s: %s", f.Name, f.Text)
			}
		})
	}
}

// However much an agent says, the page stays short.
func TestWarningsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	var notes []string
	for i := range 1000 {
		notes = append(notes, fmt.Sprint(i, long))
	}
	raw, err := json.Marshal(map[string]any{"notes": notes, "conflict_markers": []string{long}, "large_files_missing": notes})
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(findWarnings(raw, nil), ""); len(text) > 10_000 {
		t.Errorf("it says %d bytes", len(text))
	}
}

func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
