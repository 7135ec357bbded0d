package dispatch_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// handedIn returns a job whose work waits for a decision.
func (w *testWorkspace) handedIn(title string) jobs.Job {
	w.T.Helper()
	w.Job(title, reviewed)
	agent := w.Agent("agent-of-" + title)
	j := w.Claim(agent)
	done, err := w.Dispatch.Complete(w.Ctx, agent, ref(j), report.Completion{Commit: "abc", Summary: "done"})
	if err != nil {
		w.T.Fatal(err)
	}
	return done.Job
}

// toldEnd compares when a job ended, as its row has it, with what its events say once
// they are folded.
const toldEnd = `SELECT ((SELECT (array_agg(c.change->>'new' ORDER BY e.id DESC, c.n DESC))[1]::timestamptz FROM event e, event_told(e) c
		WHERE e.job_id = j.id AND c.change->>'field' = 'completed_at') IS NOT DISTINCT FROM j.completed_at
	AND (SELECT (array_agg(c.change->>'new' ORDER BY e.id DESC, c.n DESC))[1]::timestamptz FROM event e, event_told(e) c
		WHERE e.job_id = j.id AND c.change->>'field' = 'failed_at') IS NOT DISTINCT FROM j.failed_at)::text
	FROM job j WHERE id = $1`

// Each act of a person is undone: the job is what it was before, its history says so,
// and a second undo finds nothing to take back.
func TestActsAreUndone(t *testing.T) {
	ready := func(w *testWorkspace) jobs.Job { return w.Job("one") }
	after := func(from func(*testWorkspace) jobs.Job, verbs ...jobs.Trigger) func(*testWorkspace) jobs.Job {
		return func(w *testWorkspace) jobs.Job {
			j := from(w)
			for _, verb := range verbs {
				j = w.Act(j, verb)
			}
			return j
		}
	}
	review := func(w *testWorkspace) jobs.Job { return w.handedIn("one") }
	for name, c := range map[string]struct {
		from func(*testWorkspace) jobs.Job
		verb jobs.Trigger
	}{
		"approve": {review, jobs.ByApprove}, "reject": {review, jobs.ByReject}, "cancel in review": {review, jobs.ByCancel},
		"merge": {after(review, jobs.ByApprove), jobs.ByMerge}, "merge failed": {after(review, jobs.ByApprove), jobs.ByMergeFail},
		"cancel approved": {after(review, jobs.ByApprove), jobs.ByCancel}, "cancel ready": {ready, jobs.ByCancel},
		"pause": {ready, jobs.ByPause}, "resume": {after(ready, jobs.ByPause), jobs.ByResume}, "block": {ready, jobs.ByBlock},
		"unblock": {after(ready, jobs.ByBlock), jobs.ByUnblock}, "finish": {ready, jobs.ByFinish},
		"retry": {after(ready, jobs.ByCancel), jobs.ByRetry}, "archive cancelled": {after(ready, jobs.ByCancel), jobs.ByArchive},
		"archive completed": {after(ready, jobs.ByFinish), jobs.ByArchive},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorkspace(t)
			before := c.from(w)
			acted := w.Act(before, c.verb)
			undone, err := w.Dispatch.Undo(w.Ctx, w.Owner, acted.Key, acted.Version)
			if err != nil {
				t.Fatal(err)
			}
			now := w.Get(undone)
			if diff := before.State().Diff(now.State()); !onlyTimes(diff) {
				t.Errorf("the job is not what it was: %v", diff)
			}
			if text := dbfactory.Text(t, w.DB, `SELECT type FROM event WHERE job_id = $1 ORDER BY id DESC LIMIT 1`, now.ID); text != "job.undone" {
				t.Errorf("the last event is %s", text)
			}
			if told := dbfactory.Text(t, w.DB, toldEnd, now.ID); told != "true" {
				t.Errorf("folded events tell another end: %s", told)
			}
			if _, err := w.Dispatch.Undo(w.Ctx, w.Owner, now.Key, now.Version); !fault.Is(err, fault.InvalidTransition) {
				t.Errorf("a second undo: %v", err)
			}
			w.Consistent()
		})
	}
}

// onlyTimes reports whether only what every change writes differs.
func onlyTimes(diff []string) bool {
	for _, d := range diff {
		known := false
		for _, name := range []string{"version: ", "status_at: ", "status_by: ", "status_by_id: ", "status_by_kind: ", "updated_at: ", "ready_at: ", "failed_at: ",
			"completed_at: "} {
			known = known || len(d) > len(name) && d[:len(name)] == name
		}
		if !known {
			return false
		}
	}
	return true
}

// What a completion let go on waits again when it is undone; where an agent has claimed
// it, nothing is undone.
func TestUndoHoldsWhatWasReleased(t *testing.T) {
	w := newTestWorkspace(t)
	first := w.Job("first")
	next := w.Job("next", dependsOn(first.Key))
	done := w.Act(first, jobs.ByFinish)
	w.Want(next, jobs.Ready)
	undone, err := w.Dispatch.Undo(w.Ctx, w.Owner, done.Key, done.Version)
	if err != nil {
		t.Fatal(err)
	}
	if held := w.Want(next, jobs.Waiting); held.WaitReason != jobs.WaitDependency {
		t.Errorf("it waits for %q", held.WaitReason)
	}
	done = w.Act(undone, jobs.ByFinish)
	w.Claim(w.Agent("claude-1"))
	if _, err = w.Dispatch.Undo(w.Ctx, w.Owner, done.Key, done.Version); !fault.Is(err, fault.InvalidTransition) {
		t.Errorf("undo after a claim of what waited: %v", err)
	}
	w.Want(first, jobs.Completed)
	w.Consistent()
}

// An undo is for the act that was seen, for a while, and never takes a lease.
func TestUndoIsRefused(t *testing.T) {
	w := newTestWorkspace(t)
	rejected := w.Act(w.handedIn("one"), jobs.ByReject)
	agent := w.Agent("claude-1")
	held := w.Claim(agent)
	if _, err := w.Dispatch.Undo(w.Ctx, w.Owner, rejected.Key, rejected.Version); !fault.Is(err, fault.VersionConflict) {
		t.Errorf("undo after a claim: %v", err)
	}
	if _, err := w.Dispatch.Undo(w.Ctx, w.Owner, held.Key, held.Version); !fault.Is(err, fault.InvalidTransition) {
		t.Errorf("undo of a claim: %v", err)
	}
	asked := w.Act(held, jobs.ByPause)
	back, err := w.Dispatch.Undo(w.Ctx, w.Owner, asked.Key, asked.Version)
	if err != nil || back.Lease == nil || back.Lease.Directive == lease.Pause {
		t.Errorf("a pause that was asked for: %v %+v", err, back.Lease)
	}
	given := w.Act(back, jobs.ByRelease)
	if _, err := w.Dispatch.Undo(w.Ctx, w.Owner, given.Key, given.Version); !fault.Is(err, fault.InvalidTransition) {
		t.Errorf("undo of a taken lease: %v", err)
	}
	paused := w.Act(given, jobs.ByPause)
	dbfactory.Exec(t, w.DB, `UPDATE event SET saved_at = saved_at - interval '71 seconds' WHERE job_id = $1`, paused.ID)
	if _, err := w.Dispatch.Undo(w.Ctx, w.Owner, paused.Key, paused.Version); !fault.Is(err, fault.InvalidTransition) {
		t.Errorf("undo of an old act: %v", err)
	}
}

// A retry with changes is one act: an undo of the retry alone would keep the changes.
func TestUndoOfARetryWithChangesIsRefused(t *testing.T) {
	w := newTestWorkspace(t)
	gone := w.Act(w.Job("late"), jobs.ByCancel)
	again, err := w.Dispatch.Act(w.Ctx, w.Owner, gone.Key, actions.Action{Verb: jobs.ByRetry,
		Edit: &jobs.Patch{Version: gone.Version, Spec: jobs.Spec{Title: "early"}, Set: []string{"title"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Dispatch.Undo(w.Ctx, w.Owner, again.Key, again.Version); !fault.Is(err, fault.InvalidTransition) {
		t.Errorf("undone: %v", err)
	}
	if now := w.Want(again, jobs.Ready); now.Title != "early" || now.Version != again.Version {
		t.Errorf("it is %q, version %d; want early, %d", now.Title, now.Version, again.Version)
	}
	// An edit before a retry is another act.
	gone = w.Act(again, jobs.ByCancel)
	edited, err := w.Jobs.Patch(w.Ctx, w.Owner, gone.Key, jobs.Patch{Version: gone.Version, Spec: jobs.Spec{Title: "later"}, Set: []string{"title"}})
	if err != nil {
		t.Fatal(err)
	}
	again = w.Act(edited, jobs.ByRetry)
	if _, err := w.Dispatch.Undo(w.Ctx, w.Owner, again.Key, again.Version); err != nil {
		t.Errorf("a retry after an edit: %v", err)
	}
	w.Want(again, jobs.Aborted)
	w.Consistent()
}

// Of an undo and a claim of the same job exactly one wins: both stand before the job's
// row, held by another, and are let go at once.
func TestUndoAgainstClaim(t *testing.T) {
	w := newTestWorkspace(t)
	for range 5 {
		rejected := w.Act(w.handedIn("one"), jobs.ByReject)
		agent := w.Agent("claude-1")
		release := w.Hold(`SELECT 1 FROM job WHERE id = $1 FOR UPDATE`, rejected.ID)
		undone, claimed := make(chan error, 1), make(chan int, 1)
		go func() {
			_, err := w.Dispatch.Undo(w.Ctx, w.Owner, rejected.Key, rejected.Version)
			undone <- err
		}()
		go func() {
			granted, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{})
			if err != nil {
				t.Error(err)
			}
			claimed <- len(granted.Jobs)
		}()
		w.Blocked(1)
		release()
		won, got := <-undone == nil, <-claimed
		now := w.Get(rejected)
		if won == (now.Lease != nil) || won != (now.Status == jobs.InReview) || (got == 1) != (now.Lease != nil) {
			t.Errorf("undone %t, %d claimed, the job is %s", won, got, now.Status)
		}
		w.Consistent()
		if now.Lease != nil {
			w.Complete(agent, now)
		}
	}
}
