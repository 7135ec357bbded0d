package cli_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// TestImportOfManyJobsMakesDrafts, which are blocked and say why; the same file again leaves
// them so. --draft decides where it is given.
func TestImportOfManyJobsMakesDrafts(t *testing.T) {
	var many strings.Builder
	for i := range 21 {
		fmt.Fprintf(&many, "- [ ] Task %d\n", i)
	}
	list := many.String()
	fewer := list[strings.Index(list, "\n")+1:]
	for _, c := range []struct {
		text   string
		flags  []string
		status api.JobStatus
		says   string
	}{
		{list, nil, api.JobStatusBlocked, "All new jobs are drafts, which are blocked until they are unblocked; else 21 could start at once"},
		{list, []string{"--draft=false"}, api.JobStatusReady, "21 could start at once."},
		{fewer, nil, api.JobStatusReady, "20 could start at once."},
		{fewer, []string{"--draft"}, api.JobStatusBlocked, "else 20 could start at once"},
	} {
		w := newServerAndTerminal(t)
		says(t, w.imports("markdown", c.text, append(c.flags, "--yes")...).ok(), c.says, "Imported.")
		for title, job := range w.imported() {
			if job.Status != c.status || (job.BlockedReason == "draft of an import") != (c.status == api.JobStatusBlocked) {
				t.Errorf("%v: %s is %s, %q", c.flags, title, job.Status, job.BlockedReason)
			}
		}
		says(t, w.imports("markdown", c.text, append(c.flags, "--yes")...).ok(), "0 to create, 0 to change")
		if c.status == api.JobStatusBlocked {
			key := w.imported()["Task 3"].Key
			w.fleet("job", "unblock", key).ok()
			if got := w.imported()["Task 3"]; got.Status != api.JobStatusReady {
				t.Errorf("unblocked it is %s", got.Status)
			}
		}
	}
}

// TestImportOfBeadsThatAreNotOpen: what is deleted or closed makes no job, what somebody has
// or waits with there is blocked with its reason.
func TestImportOfBeadsThatAreNotOpen(t *testing.T) {
	w := newServerAndTerminal(t)
	file := bead("bd-1", "Deleted", `"status":"tombstone","delete_reason":"batch delete",`) +
		bead("bd-2", "Begun", `"status":"in_progress",`) +
		bead("bd-3", "Open", `"status":"open","acceptance_criteria":"- it works\n- it is fast","estimated_minutes":90,"design":"So",`, "bd-1")
	says(t, w.imports("beads", file, "--yes").ok(), "2 to create, 0 to change, 0 unchanged, 1 skipped", "deleted: batch delete", "blocked: in progress at its source")
	jobs := w.imported()
	if begun := jobs["Begun"]; begun.Status != api.JobStatusBlocked || begun.BlockedReason != "in progress at its source" {
		t.Errorf("%+v", begun)
	}
	if open := jobs["Open"]; len(jobs) != 2 || open.Status != api.JobStatusReady || !slices.Equal(open.Acceptance, []string{"it works", "it is fast"}) ||
		open.EstimatedMinutes == nil || *open.EstimatedMinutes != 90 || open.Body != "## Design\n\nSo" {
		t.Errorf("%+v", open)
	}
}

// TestImportCancelsWhatIsClosedAtItsSource where nobody works on it, says so where somebody
// does, and lets the others go on.
func TestImportCancelsWhatIsClosedAtItsSource(t *testing.T) {
	w := newServerAndTerminal(t)
	rest := bead("bd-2", "Second", "", "bd-1")
	w.imports("beads", bead("bd-1", "First", "")+rest+bead("bd-3", "Third", "")+bead("bd-4", "Fourth", ""), "--yes").ok()
	jobs := w.imported()
	w.fleet("job", "complete", jobs["Third"].Key, "--reason", "done by hand").ok()
	w.fleet("job", "claim", jobs["Fourth"].Key).ok()

	later := bead("bd-1", "First", `"status":"closed","close_reason":"Fixed elsewhere",`) + rest +
		bead("bd-3", "Third", `"status":"closed",`) + bead("bd-4", "Fourth", `"status":"tombstone",`)
	says(t, w.imports("beads", later, "--yes").ok(), "0 to create, 1 to change, 1 unchanged, 1 skipped, 1 to cancel",
		"closed at its source: Fixed elsewhere", "closed at its source: deleted, but the job is assigned", "Imported.")
	after := w.imported()
	if got := after["First"]; got.Status != api.JobStatusAborted {
		t.Errorf("%+v", got)
	}
	if got := after["Second"]; got.Status != api.JobStatusReady || len(got.DependsOn) != 0 {
		t.Errorf("%s waits for %v", got.Status, got.DependsOn)
	}
	if after["Third"].Status != api.JobStatusCompleted || after["Fourth"].Status != api.JobStatusAssigned {
		t.Errorf("%s and %s", after["Third"].Status, after["Fourth"].Status)
	}
	says(t, w.imports("beads", later, "--yes").ok(), "0 to create, 0 to change, 3 unchanged, 1 skipped\n")
}
