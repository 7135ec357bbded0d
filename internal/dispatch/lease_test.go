package dispatch_test

import (
	"testing"
	"time"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/fault"
	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

func number[T any](v T) *T { return &v }

func TestAJobFromClaimToCompleted(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	w.job("one")
	held := w.claim(agent)
	standing, err := w.dispatch.Progress(w.ctx, agent, ref(held), dispatch.Progress{Percent: number(40), Step: number("testing"), Checkpoint: []byte(`{"at": 2}`)})
	if err != nil || standing.Directive != dispatch.Continue {
		t.Fatalf("progress = %+v, %v", standing, err)
	}
	running := w.want(held, jobs.Running)
	if *running.ProgressPercent != 40 || running.CurrentStep != "testing" || running.StartedAt == nil {
		t.Errorf("running %+v", running)
	}
	done, err := w.dispatch.Complete(w.ctx, agent, ref(held), dispatch.Completion{Commit: "abc123", Result: []byte(`{"files": 3}`)})
	if err != nil || done.Status != jobs.Completed {
		t.Fatalf("complete = %s, %v", done.Status, err)
	}
	if got := string(w.get(held).Result); got != `{"files": 3, "commit": "abc123"}` {
		t.Errorf("result %s", got)
	}
	again, err := w.dispatch.Complete(w.ctx, agent, ref(held), dispatch.Completion{Commit: "abc123", Result: []byte(`{"files": 3}`)})
	if err != nil || again.Status != jobs.Completed {
		t.Errorf("the same completion again: %s, %v", again.Status, err)
	}
	_, err = w.dispatch.Complete(w.ctx, agent, ref(held), dispatch.Completion{Commit: "other"})
	if !fault.Is(err, fault.AlreadyEnded) {
		t.Errorf("another completion: %v; want already_ended", err)
	}
	w.consistent()
}

func TestReviewIsWhereReviewIsRequired(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	w.job("one", reviewed)
	held := w.claim(agent)
	if done, err := w.dispatch.Complete(w.ctx, agent, ref(held), dispatch.Completion{}); err != nil || done.Status != jobs.InReview {
		t.Fatalf("complete = %s, %v", done.Status, err)
	}
	if _, err := w.dispatch.Act(w.ctx, w.owner, held.Key, dispatch.Action{Verb: jobs.ByReject, Reason: "No tests."}); err != nil {
		t.Fatal(err)
	}
	again := w.claim(agent)
	if again.Feedback != "No tests." || again.Epoch != 2 {
		t.Errorf("the next attempt has feedback %q, epoch %d", again.Feedback, again.Epoch)
	}
	if _, err := w.dispatch.Complete(w.ctx, agent, ref(again), dispatch.Completion{}); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []jobs.Trigger{jobs.ByApprove, jobs.ByMerge, jobs.ByArchive} {
		if _, err := w.dispatch.Act(w.ctx, w.owner, held.Key, dispatch.Action{Verb: verb}); err != nil {
			t.Fatalf("%s: %v", verb, err)
		}
	}
	w.want(held, jobs.Archived)
	w.consistent()
}

// Every write of an agent is refused, and changes nothing, once its lease is
// not its own any more.
func TestWritesOfAnOldLeaseAreRefused(t *testing.T) {
	type write func(w *world, agent tenancy.Principal, r dispatch.Ref) error
	writes := map[string]write{
		"start": func(w *world, a tenancy.Principal, r dispatch.Ref) error {
			_, err := w.dispatch.Start(w.ctx, a, r)
			return err
		},
		"progress": func(w *world, a tenancy.Principal, r dispatch.Ref) error {
			_, err := w.dispatch.Progress(w.ctx, a, r, dispatch.Progress{Percent: number(99)})
			return err
		},
		"renew": func(w *world, a tenancy.Principal, r dispatch.Ref) error {
			_, err := w.dispatch.Renew(w.ctx, a, r, 60)
			return err
		},
		"complete": func(w *world, a tenancy.Principal, r dispatch.Ref) error {
			_, err := w.dispatch.Complete(w.ctx, a, r, dispatch.Completion{})
			return err
		},
		"fail": func(w *world, a tenancy.Principal, r dispatch.Ref) error {
			_, err := w.dispatch.Fail(w.ctx, a, r, dispatch.Failure{Error: "x"})
			return err
		},
		"release": func(w *world, a tenancy.Principal, r dispatch.Ref) error {
			_, err := w.dispatch.Release(w.ctx, a, r, "", nil)
			return err
		},
	}
	ends := map[string]struct {
		end  func(w *world, j jobs.Job)
		want fault.Code
	}{
		"expired": {func(w *world, j jobs.Job) { w.expire(j) }, fault.LeaseExpired},
		"reaped": {func(w *world, j jobs.Job) {
			w.expire(j)
			if n, err := w.dispatch.Reap(w.ctx); n != 1 || err != nil {
				w.t.Fatalf("reap = %d, %v", n, err)
			}
		}, fault.LeaseExpired},
		"given to somebody else": {func(w *world, j jobs.Job) {
			w.expire(j)
			if _, err := w.dispatch.Reap(w.ctx); err != nil {
				w.t.Fatal(err)
			}
			w.claim(w.agent("claude-2"))
		}, fault.StaleEpoch},
		"cancelled": {func(w *world, j jobs.Job) {
			if _, err := w.dispatch.Act(w.ctx, w.owner, j.Key, dispatch.Action{Verb: jobs.ByCancel}); err != nil {
				w.t.Fatal(err)
			}
			dbfactory.Exec(w.t, w.db, `UPDATE job_lease SET grace_ends_at = clock_timestamp() - interval '1 second'`)
			if n, err := w.dispatch.Reap(w.ctx); n != 1 || err != nil {
				w.t.Fatalf("reap = %d, %v", n, err)
			}
		}, fault.Cancelled},
	}
	for end, how := range ends {
		t.Run(end, func(t *testing.T) {
			w := newWorld(t)
			agent := w.agent("claude-1")
			w.job("one")
			held := w.claim(agent)
			how.end(w, held)
			before := w.get(held)
			for name, write := range writes {
				if err := write(w, agent, ref(held)); !fault.Is(err, how.want) {
					t.Errorf("%s: %v; want %s", name, err, how.want)
				}
			}
			after := w.get(held)
			if after.Version != before.Version || after.Status != before.Status || after.Epoch != before.Epoch {
				t.Errorf("the job changed from %s v%d to %s v%d", before.Status, before.Version, after.Status, after.Version)
			}
			w.consistent()
		})
	}
}

func TestAnotherAgentCannotWriteWithTheRightEpoch(t *testing.T) {
	w := newWorld(t)
	agent, thief := w.agent("claude-1"), w.agent("claude-2")
	w.job("one")
	held := w.claim(agent)
	if _, err := w.dispatch.Complete(w.ctx, thief, ref(held), dispatch.Completion{}); !fault.Is(err, fault.StaleEpoch) {
		t.Errorf("complete by another agent: %v; want stale_epoch", err)
	}
	w.want(held, jobs.Assigned)
}

func TestALossIsNotAFailure(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	w.job("one", losses(1))
	for loss := range 2 {
		held := w.claim(agent)
		w.expire(held)
		if _, err := w.dispatch.Reap(w.ctx); err != nil {
			t.Fatal(err)
		}
		now := w.get(held)
		if now.LostCount != loss+1 || now.FailureCount != 0 {
			t.Errorf("lost %d, failed %d", now.LostCount, now.FailureCount)
		}
		if want := []jobs.Status{jobs.Ready, jobs.Failed}[loss]; now.Status != want {
			t.Errorf("after loss %d it is %s; want %s", loss+1, now.Status, want)
		}
	}
	w.consistent()
}

func TestFailuresBackOffAndEnd(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	j := w.job("one", retries(1, 300))
	held := w.claim(agent)
	failed, err := w.dispatch.Fail(w.ctx, agent, ref(held), dispatch.Failure{Error: "lint", Kind: "checks_failed", Retryable: true})
	if err != nil || failed.Status != jobs.Waiting || failed.WaitReason != jobs.WaitRetryBackoff {
		t.Fatalf("fail = %s %s, %v", failed.Status, failed.WaitReason, err)
	}
	if wait := time.Until(*failed.NotBefore); wait < 230*time.Second || wait > 370*time.Second {
		t.Errorf("backs off for %s; want 300s give or take a fifth", wait)
	}
	dbfactory.Exec(t, w.db, `UPDATE job SET not_before = now() - interval '1 second' WHERE id = $1`, j.ID)
	if n, err := w.dispatch.Promote(w.ctx); n != 1 || err != nil {
		t.Fatalf("promote = %d, %v", n, err)
	}
	held = w.claim(agent)
	if failed, err = w.dispatch.Fail(w.ctx, agent, ref(held), dispatch.Failure{Error: "again", Retryable: true}); err != nil || failed.Status != jobs.Failed {
		t.Fatalf("second failure = %s, %v", failed.Status, err)
	}
	again, err := w.dispatch.Act(w.ctx, w.owner, j.Key, dispatch.Action{Verb: jobs.ByRetry})
	if err != nil || again.Status != jobs.Ready || again.FailureCount != 0 || again.Epoch != 2 {
		t.Errorf("retry = %s, failures %d, epoch %d, %v", again.Status, again.FailureCount, again.Epoch, err)
	}
	w.consistent()
}

func TestADeadAgentsJobsGoBackBeforeTheLeaseEnds(t *testing.T) {
	w := newWorld(t)
	agent, other := w.agent("claude-1"), w.agent("claude-2")
	w.job("one")
	held := w.claim(agent)
	dbfactory.Exec(t, w.db, `UPDATE agent SET last_heartbeat_at = now() - interval '301 seconds' WHERE name = 'claude-1'`)
	// No reaper runs: a claim, here of another process, takes the lease back.
	got := inWorkspace(t, w.db, w.workspace).claim(other)
	if got.Key != held.Key || got.Epoch != 2 {
		t.Errorf("claimed %s epoch %d", got.Key, got.Epoch)
	}
	w.consistent()
}

func TestASecondBootSupersedesTheFirst(t *testing.T) {
	w := newWorld(t)
	first := w.agent("claude-1")
	w.job("one")
	held := w.claim(first)
	second := w.agent("claude-1", func(r *fleet.Registration) { r.BootID = "boot-2" })
	w.want(held, jobs.Ready)
	if _, err := w.dispatch.Claim(w.ctx, first, dispatch.ClaimRequest{}); !fault.Is(err, fault.Superseded) {
		t.Errorf("claim of the first boot: %v; want superseded", err)
	}
	if _, err := w.dispatch.Heartbeat(w.ctx, first, dispatch.Heartbeat{Agent: "claude-1", BootID: "boot-1"}); !fault.Is(err, fault.Superseded) {
		t.Errorf("heartbeat of the first boot: %v; want superseded", err)
	}
	if again := w.claim(second); again.Key != held.Key || again.Epoch != 2 {
		t.Errorf("the second boot claimed %s epoch %d", again.Key, again.Epoch)
	}
	if _, err := w.dispatch.Complete(w.ctx, first, ref(held), dispatch.Completion{}); !fault.Is(err, fault.StaleEpoch) {
		t.Errorf("complete of the first boot: %v; want stale_epoch", err)
	}
	w.consistent()
}

func TestAHeartbeatKeepsLeasesAndCarriesDirectives(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	w.job("one")
	w.job("two")
	one, two := w.claim(agent), w.claim(agent)
	dbfactory.Exec(t, w.db, `UPDATE job_lease SET expires_at = clock_timestamp() + interval '5 seconds'`)
	if _, err := w.dispatch.Act(w.ctx, w.owner, two.Key, dispatch.Action{Verb: jobs.ByPause}); err != nil {
		t.Fatal(err)
	}
	answer, err := w.dispatch.Heartbeat(w.ctx, agent, dispatch.Heartbeat{Agent: "claude-1", BootID: "boot-1", Status: "working",
		Leases: []dispatch.HeartbeatLease{{Job: one.Key, Epoch: one.Epoch, ProgressPercent: number(10)}, {Job: "FB-404", Epoch: 1}, {Job: two.Key, Epoch: 7}}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, l := range answer.Leases {
		got[l.Job+" "+l.Directive] = l.Reason
		if l.ExpiresAt != nil && time.Until(*l.ExpiresAt) < 10*time.Minute {
			t.Errorf("%s ends in %s", l.Job, time.Until(*l.ExpiresAt))
		}
	}
	for _, want := range []string{one.Key + " continue", two.Key + " pause", "FB-404 fenced", two.Key + " fenced"} {
		if _, ok := got[want]; !ok {
			t.Errorf("no %q in %v", want, got)
		}
	}
	if *w.want(one, jobs.Running).ProgressPercent != 10 {
		t.Error("the heartbeat's progress was not kept")
	}
	// The agent acknowledges by giving the job back.
	paused, err := w.dispatch.Release(w.ctx, agent, ref(two), "as asked", []byte(`{"step": 3}`))
	if err != nil || paused.Status != jobs.Paused || string(paused.Checkpoint) != `{"step": 3}` {
		t.Errorf("released = %s with %s, %v; want paused", paused.Status, paused.Checkpoint, err)
	}
	w.consistent()
}

func TestRecoveryDoesNotUndoACancel(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	w.job("one")
	held := w.claim(agent)
	asked, err := w.dispatch.Act(w.ctx, w.owner, held.Key, dispatch.Action{Verb: jobs.ByCancel, Reason: "not needed"})
	if err != nil || asked.Lease == nil || asked.Lease.Directive != "cancel" {
		t.Fatalf("cancel = %+v, %v; want a directive", asked.Lease, err)
	}
	w.expire(held)
	if _, err := w.dispatch.Reap(w.ctx); err != nil {
		t.Fatal(err)
	}
	if now := w.want(held, jobs.Aborted); now.LostCount != 0 || now.LastError != "not needed" {
		t.Errorf("lost %d, error %q", now.LostCount, now.LastError)
	}
	w.consistent()
}

func TestCompletingAJobFreesItsDependents(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	one, two := w.job("one"), w.job("two")
	last := w.job("last", dependsOn(one.Key, two.Key))
	w.want(last, jobs.Waiting)
	first := w.claim(agent)
	second := w.claim(agent)
	done := make(chan error, 2)
	for _, j := range []jobs.Job{first, second} {
		go func() {
			_, err := w.dispatch.Complete(w.ctx, agent, ref(j), dispatch.Completion{})
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	w.want(last, jobs.Ready)
	if held := w.claim(agent); held.Key != last.Key {
		t.Errorf("claimed %s; want %s", held.Key, last.Key)
	}
	w.consistent()
}

func TestAnotherWorkspacesJobIsNotThere(t *testing.T) {
	w := newWorld(t)
	foreign := inWorkspace(t, w.db, dbfactory.Workspace(t, w.db))
	theirs := foreign.job("theirs")
	agent := w.agent("claude-1")
	w.nothing(agent, dispatch.ReasonEmpty)
	for name, err := range map[string]error{
		"get": func() error { _, err := w.jobs.Get(w.ctx, w.owner, theirs.ID.String()); return err }(),
		"act": func() error {
			_, err := w.dispatch.Act(w.ctx, w.owner, theirs.ID.String(), dispatch.Action{Verb: jobs.ByCancel})
			return err
		}(),
		"claim": func() error {
			_, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{Job: theirs.ID.String()})
			return err
		}(),
		"start": func() error {
			_, err := w.dispatch.Start(w.ctx, agent, dispatch.Ref{Job: theirs.ID.String(), Epoch: 1})
			return err
		}(),
		"unknown": func() error { _, err := w.jobs.Get(w.ctx, w.owner, ids.New().String()); return err }(),
	} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v; want not_found", name, err)
		}
	}
	foreign.want(theirs, jobs.Ready)
}
