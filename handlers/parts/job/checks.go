package job

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/views/ui"
)

// CheckTone is good or bad where a member of a result says so itself.
func CheckTone(raw json.RawMessage) ui.Tone {
	var passed bool
	if json.Unmarshal(raw, &passed) == nil {
		return checkTone(passed)
	}
	var counts map[string]json.RawMessage
	// What is no object counts nothing.
	_ = json.Unmarshal(raw, &counts)
	for _, name := range []string{"failed", "failures", "errors"} {
		var n float64
		if json.Unmarshal(counts[name], &n) == nil && n >= 0 {
			return checkTone(n == 0)
		}
	}
	return ui.Plain
}

func checkTone(passed bool) ui.Tone {
	if passed {
		return ui.OK
	}
	return ui.Warn
}

// CheckName returns what a page calls a member of a result.
func CheckName(name string) string {
	return web.FirstLine(strings.ReplaceAll(name, "_", " "), web.MaxSub)
}

// failedChecks returns the members of a result that say they failed, by their names.
func failedChecks(j jobs.Job) []string {
	var members map[string]json.RawMessage
	if json.Unmarshal(j.Result, &members) != nil {
		return nil
	}
	var list []string
	for name, raw := range members {
		if CheckTone(raw) == ui.Warn || slices.Contains(leftBehind, name) && !isEmptyList(raw) {
			list = append(list, CheckName(name))
		}
	}
	slices.Sort(list)
	return list
}

// leftBehind are the members of a result that list what should not be in it.
var leftBehind = []string{"conflict_markers", "large_files_missing"}

// isEmptyList reports whether a member lists nothing, or is no list.
func isEmptyList(raw json.RawMessage) bool {
	var list []json.RawMessage
	return json.Unmarshal(raw, &list) != nil || len(list) == 0
}

// doubts returns what speaks against approving a job: open criteria and failed checks.
func doubts(j jobs.Job) (open, failed []string) {
	for i, text := range j.Acceptance {
		if !j.AcceptanceMet[i] {
			open = append(open, text)
		}
	}
	return open, failedChecks(j)
}
