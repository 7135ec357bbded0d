package jobs

import (
	"slices"
	"strings"
	"testing"
)

// The table in docs/concepts.md, written down a second time: what it names
// is allowed, every other combination of statuses is refused.
func TestTheStatusTable(t *testing.T) {
	rows := []struct {
		from string
		by   Trigger
		to   string
	}{
		{"", ByCreate, "waiting ready blocked"},
		{"waiting", ByPromote, "ready"},
		{"ready", ByHold, "waiting"},
		{"waiting ready paused", ByBlock, "blocked"},
		{"blocked", ByUnblock, "waiting ready"},
		{"waiting ready assigned running", ByPause, "paused"},
		{"paused", ByResume, "waiting ready"},
		{"ready", ByClaim, "assigned"},
		{"assigned", ByStart, "running"},
		{"assigned running", ByRelease, "ready waiting"},
		{"assigned running", ByLoss, "ready waiting failed"},
		{"assigned running", ByFailure, "ready waiting failed"},
		{"assigned running", ByTimeout, "ready waiting failed"},
		{"waiting", ByCycle, "failed"},
		{"blocked", ByAnswer, "waiting ready"},
		{"assigned running", ByAsk, "blocked"},
		{"assigned running", ByComplete, "in_review completed"},
		{"waiting ready paused blocked", ByFinish, "completed"},
		{"in_review", ByApprove, "approved"},
		{"in_review", ByReject, "ready waiting"},
		{"approved", ByMerge, "completed"},
		{"approved", ByMergeFail, "in_review"},
		{"waiting ready assigned running paused blocked in_review approved", ByCancel, "aborted"},
		{"failed aborted completed", ByRetry, "ready waiting"},
		{"completed failed aborted", ByArchive, "archived"},
	}
	undone := map[string]string{
		"waiting": "paused blocked in_review completed failed aborted", "ready": "paused blocked in_review completed failed aborted",
		"paused": "waiting ready", "blocked": "waiting ready paused", "in_review": "approved", "approved": "in_review",
		"completed": "approved waiting ready paused blocked", "aborted": "waiting ready paused blocked in_review approved",
		"archived": "completed failed aborted",
	}
	all := append([]Status{""}, Statuses...)
	for _, f := range all {
		for _, next := range all {
			if got, want := Allowed(f, ByUndo, next), undone[string(f)] != "" && slices.Contains(fields(undone[string(f)]), next); got != want {
				t.Errorf("undo: %q -> %q allowed %t; want %t", f, next, got, want)
			}
		}
	}
	for _, row := range rows {
		from, to := fields(row.from), fields(row.to)
		for _, f := range all {
			for _, next := range all {
				want := slices.Contains(from, f) && slices.Contains(to, next)
				if got := Allowed(f, row.by, next); got != want {
					t.Errorf("%s: %q -> %q allowed %t; want %t", row.by, f, next, got, want)
				}
			}
			if got, want := Can(f, row.by), slices.Contains(from, f); got != want {
				t.Errorf("%s from %q possible %t; want %t", row.by, f, got, want)
			}
		}
	}
	if len(rows)+1 != len(table) {
		t.Errorf("the table has %d triggers; %d are checked", len(table), len(rows))
	}
}

func fields(s string) []Status {
	list := []Status{}
	for name := range strings.SplitSeq(s, " ") {
		list = append(list, Status(name))
	}
	return list
}
