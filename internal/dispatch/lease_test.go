package dispatch_test

import (
	"slices"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func number[T any](v T) *T { return &v }

func TestAJobFromClaimToCompleted(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	standing, err := w.Dispatch.Progress(w.Ctx, agent, ref(held), report.Progress{Percent: number(40), Step: number("testing"), Checkpoint: []byte(`{"at": 2}`)})
	if err != nil || standing.Directive != lease.Continue {
		t.Fatalf("progress = %+v, %v", standing, err)
	}
	running := w.Want(held, jobs.Running)
	if *running.ProgressPercent != 40 || running.CurrentStep != "testing" || running.StartedAt == nil {
		t.Errorf("running %+v", running)
	}
	done, err := w.Dispatch.Complete(w.Ctx, agent, ref(held), report.Completion{Commit: "abc123", Result: []byte(`{"files": 3}`)})
	if err != nil || done.Status != jobs.Completed {
		t.Fatalf("complete = %s, %v", done.Status, err)
	}
	if got := string(w.Get(held).Result); got != `{"files": 3, "commit": "abc123"}` {
		t.Errorf("result %s", got)
	}
	again, err := w.Dispatch.Complete(w.Ctx, agent, ref(held), report.Completion{Commit: "abc123", Result: []byte(`{"files": 3}`)})
	if err != nil || again.Status != jobs.Completed {
		t.Errorf("the same completion again: %s, %v", again.Status, err)
	}
	_, err = w.Dispatch.Complete(w.Ctx, agent, ref(held), report.Completion{Commit: "other"})
	if !fault.Is(err, fault.AlreadyEnded) {
		t.Errorf("another completion: %v; want already_ended", err)
	}
	w.Consistent()
}

func TestReviewIsWhereReviewIsRequired(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one", reviewed)
	held := w.Claim(agent)
	if done, err := w.Dispatch.Complete(w.Ctx, agent, ref(held), report.Completion{}); err != nil || done.Status != jobs.InReview {
		t.Fatalf("complete = %s, %v", done.Status, err)
	}
	if _, err := w.Dispatch.Act(w.Ctx, w.Owner, held.Key, actions.Action{Verb: jobs.ByReject, Reason: "No tests."}); err != nil {
		t.Fatal(err)
	}
	again := w.Claim(agent)
	if again.Feedback != "No tests." || again.Epoch != 2 {
		t.Errorf("the next attempt has feedback %q, epoch %d", again.Feedback, again.Epoch)
	}
	if _, err := w.Dispatch.Complete(w.Ctx, agent, ref(again), report.Completion{}); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []jobs.Trigger{jobs.ByApprove, jobs.ByMerge, jobs.ByArchive} {
		if _, err := w.Dispatch.Act(w.Ctx, w.Owner, held.Key, actions.Action{Verb: verb}); err != nil {
			t.Fatalf("%s: %v", verb, err)
		}
	}
	w.Want(held, jobs.Archived)
	w.Consistent()
}

// Every write of an agent is refused, and changes nothing, once its lease is
// not its own any more.
func TestWritesOfAnOldLeaseAreRefused(t *testing.T) {
	type write func(w *testWorkspace, agent tenancy.Principal, r lease.Ref) error
	writes := map[string]write{
		"start": func(w *testWorkspace, a tenancy.Principal, r lease.Ref) error {
			_, err := w.Dispatch.Start(w.Ctx, a, r, nil)
			return err
		},
		"progress": func(w *testWorkspace, a tenancy.Principal, r lease.Ref) error {
			_, err := w.Dispatch.Progress(w.Ctx, a, r, report.Progress{Percent: number(99)})
			return err
		},
		"renew": func(w *testWorkspace, a tenancy.Principal, r lease.Ref) error {
			_, err := w.Dispatch.Renew(w.Ctx, a, r, 60)
			return err
		},
		"complete": func(w *testWorkspace, a tenancy.Principal, r lease.Ref) error {
			_, err := w.Dispatch.Complete(w.Ctx, a, r, report.Completion{})
			return err
		},
		"fail": func(w *testWorkspace, a tenancy.Principal, r lease.Ref) error {
			_, err := w.Dispatch.Fail(w.Ctx, a, r, report.Failure{Error: "x"})
			return err
		},
		"release": func(w *testWorkspace, a tenancy.Principal, r lease.Ref) error {
			_, err := w.Dispatch.Release(w.Ctx, a, r, report.Release{})
			return err
		},
	}
	ends := map[string]struct {
		end  func(w *testWorkspace, j jobs.Job)
		want fault.Code
	}{
		"expired": {func(w *testWorkspace, j jobs.Job) { w.Expire(j) }, fault.LeaseExpired},
		"reaped": {func(w *testWorkspace, j jobs.Job) {
			w.Expire(j)
			if n, err := w.Dispatch.Reap(w.Ctx); n != 1 || err != nil {
				w.T.Fatalf("reap = %d, %v", n, err)
			}
		}, fault.LeaseExpired},
		"given to somebody else": {func(w *testWorkspace, j jobs.Job) {
			w.Expire(j)
			if _, err := w.Dispatch.Reap(w.Ctx); err != nil {
				w.T.Fatal(err)
			}
			w.Claim(w.Agent("claude-2"))
		}, fault.StaleEpoch},
		"cancelled": {func(w *testWorkspace, j jobs.Job) {
			if _, err := w.Dispatch.Act(w.Ctx, w.Owner, j.Key, actions.Action{Verb: jobs.ByCancel}); err != nil {
				w.T.Fatal(err)
			}
			dbfactory.Exec(w.T, w.DB, `UPDATE job_lease SET grace_ends_at = clock_timestamp() - interval '1 second'`)
			if n, err := w.Dispatch.Reap(w.Ctx); n != 1 || err != nil {
				w.T.Fatalf("reap = %d, %v", n, err)
			}
		}, fault.Cancelled},
	}
	for end, how := range ends {
		t.Run(end, func(t *testing.T) {
			w := newTestWorkspace(t)
			agent := w.Agent("claude-1")
			w.Job("one")
			held := w.Claim(agent)
			how.end(w, held)
			before := w.Get(held)
			for name, write := range writes {
				if err := write(w, agent, ref(held)); !fault.Is(err, how.want) {
					t.Errorf("%s: %v; want %s", name, err, how.want)
				}
			}
			after := w.Get(held)
			if after.Version != before.Version || after.Status != before.Status || after.Epoch != before.Epoch {
				t.Errorf("the job changed from %s v%d to %s v%d", before.Status, before.Version, after.Status, after.Version)
			}
			w.Consistent()
		})
	}
}

func TestAnotherAgentCannotWriteWithTheRightEpoch(t *testing.T) {
	w := newTestWorkspace(t)
	agent, thief := w.Agent("claude-1"), w.Agent("claude-2")
	w.Job("one")
	held := w.Claim(agent)
	if _, err := w.Dispatch.Complete(w.Ctx, thief, ref(held), report.Completion{}); !fault.Is(err, fault.StaleEpoch) {
		t.Errorf("complete by another agent: %v; want stale_epoch", err)
	}
	w.Want(held, jobs.Assigned)
}

func TestALossIsNotAFailure(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one", losses(1))
	for loss := range 2 {
		held := w.Claim(agent)
		w.Expire(held)
		if _, err := w.Dispatch.Reap(w.Ctx); err != nil {
			t.Fatal(err)
		}
		now := w.Get(held)
		if now.LostCount != loss+1 || now.FailureCount != 0 {
			t.Errorf("lost %d, failed %d", now.LostCount, now.FailureCount)
		}
		if want := []jobs.Status{jobs.Ready, jobs.Failed}[loss]; now.Status != want {
			t.Errorf("after loss %d it is %s; want %s", loss+1, now.Status, want)
		}
	}
	w.Consistent()
}

func TestFailuresBackOffAndEnd(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	j := w.Job("one", retries(1, 300))
	held := w.Claim(agent)
	failed, err := w.Dispatch.Fail(w.Ctx, agent, ref(held), report.Failure{Error: "lint", Kind: "checks_failed", Retryable: true})
	if err != nil || failed.Status != jobs.Waiting || failed.WaitReason != jobs.WaitRetryBackoff {
		t.Fatalf("fail = %s %s, %v", failed.Status, failed.WaitReason, err)
	}
	if wait := time.Until(*failed.NotBefore); wait < 230*time.Second || wait > 370*time.Second {
		t.Errorf("backs off for %s; want 300s give or take a fifth", wait)
	}
	dbfactory.Exec(t, w.DB, `UPDATE job SET not_before = now() - interval '1 second' WHERE id = $1`, j.ID)
	if n, err := w.Dispatch.Promote(w.Ctx); n != 1 || err != nil {
		t.Fatalf("promote = %d, %v", n, err)
	}
	held = w.Claim(agent)
	if failed, err = w.Dispatch.Fail(w.Ctx, agent, ref(held), report.Failure{Error: "again", Retryable: true}); err != nil || failed.Status != jobs.Failed {
		t.Fatalf("second failure = %s, %v", failed.Status, err)
	}
	again, err := w.Dispatch.Act(w.Ctx, w.Owner, j.Key, actions.Action{Verb: jobs.ByRetry})
	if err != nil || again.Status != jobs.Ready || again.FailureCount != 0 || again.Epoch != 2 {
		t.Errorf("retry = %s, failures %d, epoch %d, %v", again.Status, again.FailureCount, again.Epoch, err)
	}
	w.Consistent()
}

func TestADeadAgentsJobsGoBackBeforeTheLeaseEnds(t *testing.T) {
	w := newTestWorkspace(t)
	agent, other := w.Agent("claude-1"), w.Agent("claude-2")
	w.Job("one")
	held := w.Claim(agent)
	dbfactory.Exec(t, w.DB, `UPDATE agent SET last_heartbeat_at = now() - interval '301 seconds' WHERE name = 'claude-1'`)
	// No reaper runs: a claim, here of another process, takes the lease back.
	got := inWorkspace(t, w.DB, w.Workspace).Claim(other)
	if got.Key != held.Key || got.Epoch != 2 {
		t.Errorf("claimed %s epoch %d", got.Key, got.Epoch)
	}
	w.Consistent()
}

func TestASecondBootSupersedesTheFirst(t *testing.T) {
	w := newTestWorkspace(t)
	first := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(first)
	second := w.Agent("claude-1", func(r *fleet.Registration) { r.BootID = "boot-2" })
	w.Want(held, jobs.Ready)
	if _, err := w.Dispatch.Claim(w.Ctx, first, claim.Request{}); !fault.Is(err, fault.Superseded) {
		t.Errorf("claim of the first boot: %v; want superseded", err)
	}
	if _, err := w.Dispatch.Heartbeat(w.Ctx, first, report.Heartbeat{Agent: "claude-1", BootID: "boot-1"}); !fault.Is(err, fault.Superseded) {
		t.Errorf("heartbeat of the first boot: %v; want superseded", err)
	}
	if again := w.Claim(second); again.Key != held.Key || again.Epoch != 2 {
		t.Errorf("the second boot claimed %s epoch %d", again.Key, again.Epoch)
	}
	if _, err := w.Dispatch.Complete(w.Ctx, first, ref(held), report.Completion{}); !fault.Is(err, fault.StaleEpoch) {
		t.Errorf("complete of the first boot: %v; want stale_epoch", err)
	}
	w.Consistent()
}

func TestAHeartbeatKeepsLeasesAndCarriesDirectives(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	w.Job("two")
	one, two := w.Claim(agent), w.Claim(agent)
	dbfactory.Exec(t, w.DB, `UPDATE job_lease SET expires_at = clock_timestamp() + interval '5 seconds'`)
	if _, err := w.Dispatch.Act(w.Ctx, w.Owner, two.Key, actions.Action{Verb: jobs.ByPause}); err != nil {
		t.Fatal(err)
	}
	answer, err := w.Dispatch.Heartbeat(w.Ctx, agent, report.Heartbeat{Agent: "claude-1", BootID: "boot-1", Status: "working",
		Leases: []report.HeartbeatLease{{Job: one.Key, Epoch: one.Epoch, ProgressPercent: number(10)}, {Job: two.ID.String(), Epoch: two.Epoch},
			{Job: "FB-404", Epoch: 1}, {Job: two.Key, Epoch: 7}}})
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
	if *w.Want(one, jobs.Running).ProgressPercent != 10 {
		t.Error("the heartbeat's progress was not kept")
	}
	// The agent acknowledges by giving the job back.
	paused, err := w.Dispatch.Release(w.Ctx, agent, ref(two), report.Release{Reason: "as asked", Checkpoint: []byte(`{"step": 3}`)})
	if err != nil || paused.Status != jobs.Paused || string(paused.Checkpoint) != `{"step": 3}` {
		t.Errorf("released = %s with %s, %v; want paused", paused.Status, paused.Checkpoint, err)
	}
	w.Consistent()
}

// A heartbeat keeps what its agent works on. A lease that it does not list is answered, so
// that the agent can give it back, and ends in its time: nobody works on it.
func TestAHeartbeatExtendsOnlyWhatItLists(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	for name, listed := range map[string]func(claimed, other report.HeartbeatLease) []report.HeartbeatLease{
		"by its key":         func(c, _ report.HeartbeatLease) []report.HeartbeatLease { return []report.HeartbeatLease{c} },
		"twice":              func(c, _ report.HeartbeatLease) []report.HeartbeatLease { return []report.HeartbeatLease{c, c} },
		"not at all":         func(_, _ report.HeartbeatLease) []report.HeartbeatLease { return nil },
		"in another epoch":   func(c, _ report.HeartbeatLease) []report.HeartbeatLease { c.Epoch++; return []report.HeartbeatLease{c} },
		"another one alone":  func(_, o report.HeartbeatLease) []report.HeartbeatLease { return []report.HeartbeatLease{o} },
		"beside another one": func(c, o report.HeartbeatLease) []report.HeartbeatLease { return []report.HeartbeatLease{o, c} },
	} {
		w.Job("one")
		w.Job("two")
		one, two := w.Claim(agent), w.Claim(agent)
		dbfactory.Exec(t, w.DB, `UPDATE job_lease SET expires_at = clock_timestamp() + interval '5 seconds'`)
		leases := listed(report.HeartbeatLease{Job: one.Key, Epoch: one.Epoch}, report.HeartbeatLease{Job: two.Key, Epoch: two.Epoch})
		answer, err := w.Dispatch.Heartbeat(w.Ctx, agent, report.Heartbeat{Agent: agent.Name, BootID: agent.Boot, Leases: leases})
		if err != nil {
			t.Fatal(err)
		}
		answered := 0
		for _, l := range answer.Leases {
			if l.Directive == lease.Fenced {
				continue
			}
			answered++
			kept := slices.ContainsFunc(leases, func(said report.HeartbeatLease) bool { return said.Job == l.Job && said.Epoch == l.Epoch })
			if extended := time.Until(*l.ExpiresAt) > time.Minute; extended != kept {
				t.Errorf("%s: %s was extended: %v, listed: %v", name, l.Job, extended, kept)
			}
		}
		if answered != 2 {
			t.Errorf("%s: %d leases were answered", name, answered)
		}
		for _, j := range []jobs.Job{one, two} {
			if _, err := w.Dispatch.Complete(w.Ctx, agent, ref(j), report.Completion{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.Consistent()
}

func TestRecoveryDoesNotUndoACancel(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	asked, err := w.Dispatch.Act(w.Ctx, w.Owner, held.Key, actions.Action{Verb: jobs.ByCancel, Reason: "not needed"})
	if err != nil || asked.Lease == nil || asked.Lease.Directive != "cancel" {
		t.Fatalf("cancel = %+v, %v; want a directive", asked.Lease, err)
	}
	w.Expire(held)
	if _, err := w.Dispatch.Reap(w.Ctx); err != nil {
		t.Fatal(err)
	}
	if now := w.Want(held, jobs.Aborted); now.LostCount != 0 || now.LastError != "not needed" {
		t.Errorf("lost %d, error %q", now.LostCount, now.LastError)
	}
	w.Consistent()
}

// Whoever pauses a job that is about to be cancelled learns that it will not be paused.
func TestACancelIsNotReplacedByAPause(t *testing.T) {
	w := newTestWorkspace(t)
	w.Job("one")
	held := w.Claim(w.Agent("claude-1"))
	w.Act(held, jobs.ByCancel)
	for range 2 {
		if _, err := w.Dispatch.Act(w.Ctx, w.Owner, held.Key, actions.Action{Verb: jobs.ByPause}); !fault.Is(err, fault.InvalidTransition) {
			t.Errorf("pause = %v; want a refusal", err)
		}
	}
	if now := w.Get(held); now.Lease == nil || now.Lease.Directive != lease.Cancel {
		t.Errorf("the lease is %+v; want the cancel", now.Lease)
	}
	w.Consistent()
}

func TestCompletingAJobFreesItsDependents(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	one, two := w.Job("one"), w.Job("two")
	last := w.Job("last", dependsOn(one.Key, two.Key))
	w.Want(last, jobs.Waiting)
	first := w.Claim(agent)
	second := w.Claim(agent)
	done := make(chan error, 2)
	for _, j := range []jobs.Job{first, second} {
		go func() {
			_, err := w.Dispatch.Complete(w.Ctx, agent, ref(j), report.Completion{})
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	w.Want(last, jobs.Ready)
	if held := w.Claim(agent); held.Key != last.Key {
		t.Errorf("claimed %s; want %s", held.Key, last.Key)
	}
	w.Consistent()
}

func TestAnotherWorkspacesJobIsNotThere(t *testing.T) {
	w := newTestWorkspace(t)
	foreign := inWorkspace(t, w.DB, dbfactory.Workspace(t, w.DB))
	theirs := foreign.Job("theirs")
	agent := w.Agent("claude-1")
	w.Nothing(agent, claim.ReasonEmpty)
	for name, err := range map[string]error{
		"get": func() error { _, err := w.Jobs.Get(w.Ctx, w.Owner, theirs.ID.String()); return err }(),
		"act": func() error {
			_, err := w.Dispatch.Act(w.Ctx, w.Owner, theirs.ID.String(), actions.Action{Verb: jobs.ByCancel})
			return err
		}(),
		"claim": func() error {
			_, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Job: theirs.ID.String()})
			return err
		}(),
		"start": func() error {
			_, err := w.Dispatch.Start(w.Ctx, agent, lease.Ref{Job: theirs.ID.String(), Epoch: 1}, nil)
			return err
		}(),
		"unknown": func() error { _, err := w.Jobs.Get(w.Ctx, w.Owner, ids.New().String()); return err }(),
	} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v; want not_found", name, err)
		}
	}
	foreign.Want(theirs, jobs.Ready)
}
