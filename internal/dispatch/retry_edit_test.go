package dispatch_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// A job that is retried with changes gets both or neither. It may wait for further jobs
// then, which a finished one else may not.
func TestARetryWithChangesIsBothOrNeither(t *testing.T) {
	w := newTestWorkspace(t)
	first := w.Job("first")
	j := w.Job("late", needs("gpu:h100"))
	w.Act(j, jobs.ByCancel)
	gone := w.Get(j)
	can, more, title := []string{}, []string{first.Key}, "early"
	retry := func(p jobs.Patch) (jobs.Job, error) {
		return w.Dispatch.Act(w.Ctx, w.Owner, j.Key, actions.Action{Verb: jobs.ByRetry, Edit: &p})
	}
	none := []string{"FB-404"}
	for name, c := range map[string]struct {
		patch jobs.Patch
		code  fault.Code
	}{
		"another version": {jobs.Patch{Version: gone.Version - 1, Spec: jobs.Spec{Title: title}, Set: []string{"title"}},
			fault.VersionConflict},
		"an unknown dependency": {jobs.Patch{Version: gone.Version, Spec: jobs.Spec{Title: title, DependsOn: none},
			Set: []string{"title", "depends_on"}}, fault.Validation},
		"an empty title": {jobs.Patch{Version: gone.Version, Spec: jobs.Spec{Title: *new(string)}, Set: []string{"title"}},
			fault.Validation},
	} {
		if _, err := retry(c.patch); !fault.Is(err, c.code) {
			t.Errorf("%s: %v; want %s", name, err, c.code)
		}
		if now := w.Want(j, jobs.Aborted); now.Version != gone.Version || now.Title != "late" {
			t.Errorf("%s changed it: %q, version %d", name, now.Title, now.Version)
		}
	}
	if _, err := w.Jobs.Patch(w.Ctx, w.Owner, j.Key, jobs.Patch{Version: gone.Version, Spec: jobs.Spec{DependsOn: more},
		Set: []string{"depends_on"}}); !fault.Is(err, fault.InvalidTransition) {
		t.Errorf("a cancelled job waits for another one without being retried: %v", err)
	}

	again, err := retry(jobs.Patch{Version: gone.Version, Spec: jobs.Spec{Title: title, Capabilities: can, DependsOn: more},
		Set: []string{"title", "capabilities", "depends_on"}})
	if err != nil || again.Status != jobs.Waiting || again.WaitReason != jobs.WaitDependency || again.Title != "early" {
		t.Fatalf("retried: %s %q %q, %v", again.Status, again.WaitReason, again.Title, err)
	}
	if told := dbfactory.Text(t, w.DB, `SELECT string_agg(type, ' ' ORDER BY id) FROM (
		SELECT type, id FROM event WHERE job_id = $1 ORDER BY id DESC LIMIT 2) e`, j.ID); told != "job.edited job.retried" {
		t.Errorf("the log tells %s", told)
	}
	agent := w.Agent("claude-1")
	for _, want := range []string{first.Key, j.Key} {
		held := w.Claim(agent)
		if held.Key != want {
			t.Fatalf("claimed %s; want %s", held.Key, want)
		}
		w.Complete(agent, held)
	}
	w.Consistent()
}

// What is retried is over; an edit of one that is worked on is not made either.
func TestARetryOfAJobThatRunsEditsNothing(t *testing.T) {
	w := newTestWorkspace(t)
	j := w.Job("runs")
	held := w.Claim(w.Agent("claude-1"))
	title := "another"
	_, err := w.Dispatch.Act(w.Ctx, w.Owner, j.Key, actions.Action{Verb: jobs.ByRetry, Edit: &jobs.Patch{Version: held.Version,
		Spec: jobs.Spec{Title: title}, Set: []string{"title"}}})
	if !fault.Is(err, fault.InvalidTransition) || w.Get(j).Title != "runs" {
		t.Errorf("%v, titled %q", err, w.Get(j).Title)
	}
}
