package jobparts

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/jobs"
)

func TestSizeOf(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]Size{
		``:                    {},
		`null`:                {},
		`[1]`:                 {},
		`{"summary": "done"}`: {},
		`{"files_changed": 3, "insertions": 128, "deletions": 40}`:     {3, 128, 40, true},
		`{"files": ["a.go", "b.go"], "lines_added": 2}`:                {2, 2, 0, true},
		`{"diff": {"files_changed": 2, "additions": 5, "removed": 1}}`: {2, 5, 1, true},
		`{"diff": "--- a", "files": 1}`:                                {1, 0, 0, false},
		`{"insertions": -1, "deletions": "x", "files": 1e12}`:          {},
		`{"files": 7, "x": "` + strings.Repeat("x", maxSized) + `"}`:   {},
	} {
		if got := ChangeSize(jobs.Job{Result: json.RawMessage(result)}); got != want {
			t.Errorf("%.60s: %+v, want %+v", result, got, want)
		}
	}
	if got := ChangeSize(jobs.Job{FilesTouched: []string{"a.go", "b.go"}}); got.Files != 2 {
		t.Errorf("files touched: %+v", got)
	}
}
