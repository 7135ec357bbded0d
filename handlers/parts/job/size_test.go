package job

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/jobs"
)

func TestWhatAResultSaysOfItsChange(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]Changes{
		``:                    {},
		`null`:                {},
		`[1]`:                 {},
		`{"summary": "done"}`: {},
		`{"files_changed": 3, "insertions": 128, "deletions": 40}`:           {Files: 3, Added: 128, Deleted: 40, Counted: true},
		`{"files_changed": ["a.go", "b.go"], "insertions": 2}`:               {Files: 2, Paths: []string{"a.go", "b.go"}, Added: 2, Counted: true},
		`{"diff": {"files_changed": 2, "insertions": 5, "deletions": 1}}`:    {Files: 2, Added: 5, Deleted: 1, Counted: true},
		`{"diff": "--- a", "files_changed": 1}`:                              {Files: 1, Diff: "--- a"},
		`{"insertions": -1, "deletions": "x", "files_changed": 1e12}`:        {},
		`{"files_changed": 7, "x": "` + strings.Repeat("x", maxSized) + `"}`: {},
	} {
		if got := ChangeSize(jobs.Job{Result: json.RawMessage(result)}); !reflect.DeepEqual(got, want) {
			t.Errorf("%.60s: %+v, want %+v", result, got, want)
		}
	}
	if got := ChangeSize(jobs.Job{FilesTouched: []string{"a.go", "b.go"}}); got.Files != 2 {
		t.Errorf("files touched: %+v", got)
	}
}
