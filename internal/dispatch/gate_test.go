package dispatch_test

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/waitlist"
)

// gate makes a job another one's child for which that waits, or, with false, does not.
func (w *testWorkspace) gate(child, parent jobs.Job, gate bool) jobs.Job {
	w.T.Helper()
	linked, err := w.Jobs.LinkParent(w.Ctx, w.Owner, child.Key, parent.Key, gate)
	if err != nil {
		w.T.Fatalf("gate %s until %s ends: %v", parent.Key, child.Key, err)
	}
	return linked
}

// waitsFor asserts why a job waits.
func (w *testWorkspace) waitsFor(j jobs.Job, reason jobs.WaitReason) {
	w.T.Helper()
	if now := w.Want(j, jobs.Waiting); now.WaitReason != reason {
		w.T.Fatalf("%s waits for %s; want %s", j.Key, now.WaitReason, reason)
	}
}

// A parent with gates is claimed once the last child has ended, however it did.
func TestAGateOpensWhenTheLastChildEnds(t *testing.T) {
	for how, end := range map[string]func(w *testWorkspace, agent tenancy.Principal, child jobs.Job){
		"completed": func(w *testWorkspace, agent tenancy.Principal, child jobs.Job) { w.Complete(agent, child) },
		"failed": func(w *testWorkspace, agent tenancy.Principal, child jobs.Job) {
			if _, err := w.Dispatch.Fail(w.Ctx, agent, ref(child), report.Failure{Error: "broken"}); err != nil {
				w.T.Fatal(err)
			}
		},
		"cancelled, given back": func(w *testWorkspace, agent tenancy.Principal, child jobs.Job) {
			w.Act(child, jobs.ByCancel)
			if _, err := w.Dispatch.Release(w.Ctx, agent, ref(child), report.Release{Reason: "told to stop"}); err != nil {
				w.T.Fatal(err)
			}
		},
		"cancelled, held by nobody": func(w *testWorkspace, agent tenancy.Principal, child jobs.Job) {
			if _, err := w.Dispatch.Release(w.Ctx, agent, ref(child), report.Release{}); err != nil {
				w.T.Fatal(err)
			}
			w.Act(child, jobs.ByCancel)
		},
		"lost": func(w *testWorkspace, _ tenancy.Principal, child jobs.Job) {
			w.Expire(child)
			if n, err := w.Dispatch.Reap(w.Ctx); n != 1 || err != nil {
				w.T.Fatalf("reap = %d, %v", n, err)
			}
		},
		"done by a person": func(w *testWorkspace, agent tenancy.Principal, child jobs.Job) {
			if _, err := w.Dispatch.Release(w.Ctx, agent, ref(child), report.Release{}); err != nil {
				w.T.Fatal(err)
			}
			w.Act(child, jobs.ByFinish)
		},
	} {
		t.Run(how, func(t *testing.T) {
			w := newTestWorkspace(t)
			agent := w.Agent("claude-1")
			parent := w.Job("parent", priority(9))
			one, two := w.Job("one", priority(8), losses(0)), w.Job("two", needs("gpu:h100"))
			w.gate(one, parent, true)
			w.gate(two, parent, true)
			w.waitsFor(parent, jobs.WaitDependency)
			child := w.Claim(agent)
			if child.Key != one.Key {
				t.Fatalf("claimed %s", child.Key)
			}
			w.Act(two, jobs.ByCancel)
			w.waitsFor(parent, jobs.WaitDependency)
			end(w, agent, child)
			w.Want(parent, jobs.Ready)
			if got := w.Claim(agent); got.Key != parent.Key {
				t.Errorf("claimed %s; want the parent", got.Key)
			}
			w.Consistent()
		})
	}
}

// What a gate does to a parent, by the parent's status, and what the parent does once
// whoever has it lets it go.
func TestAGateInEachStatusOfTheParent(t *testing.T) {
	claimed := func(w *testWorkspace, agent tenancy.Principal, _ jobs.Job) jobs.Job { return w.Claim(agent) }
	acted := func(verb jobs.Trigger) func(*testWorkspace, tenancy.Principal, jobs.Job) jobs.Job {
		return func(w *testWorkspace, _ tenancy.Principal, j jobs.Job) jobs.Job { return w.Act(j, verb) }
	}
	for name, c := range map[string]struct {
		change  []func(*jobs.New)
		begin   func(*testWorkspace, tenancy.Principal, jobs.Job) jobs.Job
		gated   jobs.Status
		goesOn  func(*testWorkspace, tenancy.Principal, jobs.Job)
		refused bool
	}{
		"ready": {gated: jobs.Waiting},
		"waiting for a time": {change: []func(*jobs.New){func(n *jobs.New) { n.NotBefore = number(time.Now().Add(time.Hour)) }},
			gated: jobs.Waiting},
		"paused": {begin: acted(jobs.ByPause), gated: jobs.Paused,
			goesOn: func(w *testWorkspace, _ tenancy.Principal, j jobs.Job) { w.Act(j, jobs.ByResume) }},
		"blocked": {begin: acted(jobs.ByBlock), gated: jobs.Blocked,
			goesOn: func(w *testWorkspace, _ tenancy.Principal, j jobs.Job) { w.Act(j, jobs.ByUnblock) }},
		"worked on, and given back": {begin: claimed, gated: jobs.Assigned, goesOn: func(w *testWorkspace, a tenancy.Principal, j jobs.Job) {
			if _, err := w.Dispatch.Release(w.Ctx, a, ref(j), report.Release{}); err != nil {
				w.T.Fatal(err)
			}
		}},
		"worked on, and lost": {begin: claimed, gated: jobs.Assigned, goesOn: func(w *testWorkspace, _ tenancy.Principal, j jobs.Job) {
			w.Expire(j)
			if _, err := w.Dispatch.Reap(w.Ctx); err != nil {
				w.T.Fatal(err)
			}
		}},
		"in review": {change: []func(*jobs.New){reviewed}, begin: func(w *testWorkspace, a tenancy.Principal, _ jobs.Job) jobs.Job {
			held := w.Claim(a)
			w.Complete(a, held)
			return held
		}, gated: jobs.InReview, goesOn: func(w *testWorkspace, _ tenancy.Principal, j jobs.Job) { w.Act(j, jobs.ByReject) }},
		"aborted": {begin: acted(jobs.ByCancel), gated: jobs.Aborted, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorkspace(t)
			agent := w.Agent("claude-1")
			parent := w.Job("parent", c.change...)
			held := parent
			if c.begin != nil {
				held = c.begin(w, agent, parent)
			}
			child := w.Job("child", needs("gpu:h100"))
			_, err := w.Jobs.LinkParent(w.Ctx, w.Owner, child.Key, parent.Key, true)
			if c.refused != fault.Is(err, fault.InvalidTransition) || !c.refused && err != nil {
				t.Fatalf("gate: %v", err)
			}
			if now := w.Want(parent, c.gated); (now.Lease != nil) != (c.gated == jobs.Assigned) {
				t.Errorf("lease %+v", now.Lease)
			}
			if c.refused {
				return
			}
			if c.goesOn != nil {
				c.goesOn(w, agent, held)
			}
			w.waitsFor(parent, jobs.WaitDependency)
			w.Nothing(agent, claim.ReasonEmpty)
			w.Consistent()
		})
	}
}

// A child that has ended is no gate. One that is retried is one again, unless its
// parent was claimed meanwhile.
func TestAGateClosesAgainWithARetry(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	parent, child := w.Job("parent"), w.Job("child", needs("gpu:h100"))
	w.Act(child, jobs.ByCancel)
	w.gate(child, parent, true)
	w.Want(parent, jobs.Ready)
	w.Act(child, jobs.ByRetry)
	w.waitsFor(parent, jobs.WaitDependency)
	w.Nothing(agent, claim.ReasonEmpty)
	w.Act(child, jobs.ByFinish)
	held := w.Claim(agent)
	w.Act(child, jobs.ByRetry)
	if now := w.Want(parent, jobs.Assigned); now.Epoch != held.Epoch || now.Lease == nil {
		t.Errorf("the lease went away: %+v", now.Lease)
	}
	w.Consistent()
}

// A parent is free again when the gate is taken away, with the link or without it, and
// whoever waits for a job gets it at once.
func TestAGateThatIsTakenAwayFreesTheParent(t *testing.T) {
	for name, open := range map[string]func(w *testWorkspace, child, parent jobs.Job) error{
		"gate alone": func(w *testWorkspace, child, parent jobs.Job) error {
			_, err := w.Jobs.LinkParent(w.Ctx, w.Owner, child.Key, parent.Key, false)
			return err
		},
		"the link": func(w *testWorkspace, child, parent jobs.Job) error {
			_, err := w.Jobs.Unlink(w.Ctx, w.Owner, child.Key, parent.Key, jobs.Parent)
			return err
		},
		"all links": func(w *testWorkspace, child, parent jobs.Job) error {
			_, err := w.Jobs.Unlink(w.Ctx, w.Owner, child.Key, parent.Key, "")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorkspace(t)
			<-w.Listening
			agent := w.Agent("claude-1")
			parent, child := w.Job("parent"), w.Job("child", needs("gpu:h100"))
			w.gate(child, parent, true)
			got := make(chan claim.Result, 1)
			go func() {
				claimed, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Wait: waitlist.MaxWait})
				if err != nil {
					t.Errorf("claim: %v", err)
				}
				got <- claimed
			}()
			if err := open(w, child, parent); err != nil {
				t.Fatal(err)
			}
			if claimed := <-got; len(claimed.Jobs) != 1 {
				t.Errorf("%d jobs", len(claimed.Jobs))
			}
			if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_dependency WHERE type = 'gate'`); n != 0 {
				t.Errorf("%d gates are left", n)
			}
			w.Consistent()
		})
	}
}

// Jobs that wait for one another by a gate fail as others do, but a parent whose child
// has failed goes on.
func TestACycleThroughAGateFails(t *testing.T) {
	w := newTestWorkspace(t)
	first := w.Job("first")
	parent, child := w.Job("parent", dependsOn(first.Key)), w.Job("child", dependsOn(first.Key))
	both, other := w.Job("both", dependsOn(first.Key)), w.Job("other", dependsOn(first.Key))
	wait := func(job, dependsOn jobs.Job, kind jobs.LinkType) {
		dbfactory.Exec(t, w.DB, `INSERT INTO job_dependency (workspace_id, job_id, depends_on_id, type, created_by) VALUES ($1, $2, $3, $4, 'test')`,
			w.Workspace, job.ID, dependsOn.ID, string(kind))
	}
	wait(parent, child, jobs.Gate)
	wait(child, parent, jobs.Blocks)
	wait(both, other, jobs.Gate)
	wait(both, other, jobs.Blocks)
	wait(other, both, jobs.Blocks)
	if _, err := w.Dispatch.FailCycles(w.Ctx); err != nil {
		t.Fatal(err)
	}
	w.Want(child, jobs.Failed)
	w.Want(both, jobs.Failed)
	w.Want(other, jobs.Failed)
	// Where the child was the first to fail the parent waits for nothing of the cycle.
	if now := w.Get(parent); now.Status != jobs.Failed {
		w.Act(first, jobs.ByFinish)
		w.Want(parent, jobs.Ready)
	}
	w.Consistent()
}

// A retry of a child and a claim of its parent, at the same moment: the claim gets the
// parent before the retry, or not at all.
func TestARetryOfAChildAndAClaimOfItsParent(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	for _, hold := range []string{"job", "factory", "agent"} {
		t.Run(hold+" held", func(t *testing.T) {
			w := inWorkspace(t, d, dbfactory.Workspace(t, d))
			agent := w.Agent("claude-1")
			child, parent := w.Job("child", needs("gpu:h100")), w.Job("parent")
			w.gate(child, parent, true)
			w.Act(child, jobs.ByCancel)
			retries := racer{"retry", func(w *testWorkspace, _ tenancy.Principal, _ jobs.Job) error {
				_, err := w.Dispatch.Act(w.Ctx, w.Owner, child.Key, actions.Action{Verb: jobs.ByRetry})
				return err
			}}
			errs := w.race(hold, agent, parent, claims, retries)
			if w.judge(errs, claims, retries); errs[1] != nil {
				t.Errorf("retry: %v", errs[1])
			}
			if errs[0] == nil {
				w.Want(parent, jobs.Assigned)
			} else {
				w.waitsFor(parent, jobs.WaitDependency)
			}
			w.Consistent()
		})
	}
}
