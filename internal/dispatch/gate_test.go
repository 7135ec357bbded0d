package dispatch_test

import (
	"testing"
	"time"

	"fleetboard/db/dbfactory"
	"fleetboard/db/dbtest"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/dispatch/waitlist"
	"fleetboard/internal/fault"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// gate makes a job another one's child for which that waits, or, with false, does not.
func (w *world) gate(child, parent jobs.Job, gate bool) jobs.Job {
	w.t.Helper()
	linked, err := w.jobs.LinkParent(w.ctx, w.owner, child.Key, parent.Key, gate)
	if err != nil {
		w.t.Fatalf("gate %s until %s ends: %v", parent.Key, child.Key, err)
	}
	return linked
}

// waitsFor asserts why a job waits.
func (w *world) waitsFor(j jobs.Job, reason jobs.WaitReason) {
	w.t.Helper()
	if now := w.want(j, jobs.Waiting); now.WaitReason != reason {
		w.t.Fatalf("%s waits for %s; want %s", j.Key, now.WaitReason, reason)
	}
}

// A parent with gates is claimed once the last child has ended, however it did.
func TestAGateOpensWhenTheLastChildEnds(t *testing.T) {
	for how, end := range map[string]func(w *world, agent tenancy.Principal, child jobs.Job){
		"completed": func(w *world, agent tenancy.Principal, child jobs.Job) { w.complete(agent, child) },
		"failed": func(w *world, agent tenancy.Principal, child jobs.Job) {
			if _, err := w.dispatch.Fail(w.ctx, agent, ref(child), dispatch.Failure{Error: "broken"}); err != nil {
				w.t.Fatal(err)
			}
		},
		"cancelled, given back": func(w *world, agent tenancy.Principal, child jobs.Job) {
			w.act(child, jobs.ByCancel)
			if _, err := w.dispatch.Release(w.ctx, agent, ref(child), "told to stop", nil); err != nil {
				w.t.Fatal(err)
			}
		},
		"cancelled, held by nobody": func(w *world, agent tenancy.Principal, child jobs.Job) {
			if _, err := w.dispatch.Release(w.ctx, agent, ref(child), "", nil); err != nil {
				w.t.Fatal(err)
			}
			w.act(child, jobs.ByCancel)
		},
		"lost": func(w *world, _ tenancy.Principal, child jobs.Job) {
			w.expire(child)
			if n, err := w.dispatch.Reap(w.ctx); n != 1 || err != nil {
				w.t.Fatalf("reap = %d, %v", n, err)
			}
		},
		"done by a person": func(w *world, agent tenancy.Principal, child jobs.Job) {
			if _, err := w.dispatch.Release(w.ctx, agent, ref(child), "", nil); err != nil {
				w.t.Fatal(err)
			}
			w.act(child, jobs.ByFinish)
		},
	} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t)
			agent := w.agent("claude-1")
			parent := w.job("parent", priority(9))
			one, two := w.job("one", priority(8), losses(0)), w.job("two", needs("gpu:h100"))
			w.gate(one, parent, true)
			w.gate(two, parent, true)
			w.waitsFor(parent, jobs.WaitDependency)
			child := w.claim(agent)
			if child.Key != one.Key {
				t.Fatalf("claimed %s", child.Key)
			}
			w.act(two, jobs.ByCancel)
			w.waitsFor(parent, jobs.WaitDependency)
			end(w, agent, child)
			w.want(parent, jobs.Ready)
			if got := w.claim(agent); got.Key != parent.Key {
				t.Errorf("claimed %s; want the parent", got.Key)
			}
			w.consistent()
		})
	}
}

// What a gate does to a parent, by the parent's status, and what the parent does once
// whoever has it lets it go.
func TestAGateInEachStatusOfTheParent(t *testing.T) {
	claimed := func(w *world, agent tenancy.Principal, _ jobs.Job) jobs.Job { return w.claim(agent) }
	acted := func(verb jobs.Trigger) func(*world, tenancy.Principal, jobs.Job) jobs.Job {
		return func(w *world, _ tenancy.Principal, j jobs.Job) jobs.Job { return w.act(j, verb) }
	}
	for name, c := range map[string]struct {
		change  []func(*jobs.New)
		begin   func(*world, tenancy.Principal, jobs.Job) jobs.Job
		gated   jobs.Status
		goesOn  func(*world, tenancy.Principal, jobs.Job)
		refused bool
	}{
		"ready": {gated: jobs.Waiting},
		"waiting for a time": {change: []func(*jobs.New){func(n *jobs.New) { n.NotBefore = number(time.Now().Add(time.Hour)) }},
			gated: jobs.Waiting},
		"paused": {begin: acted(jobs.ByPause), gated: jobs.Paused,
			goesOn: func(w *world, _ tenancy.Principal, j jobs.Job) { w.act(j, jobs.ByResume) }},
		"blocked": {begin: acted(jobs.ByBlock), gated: jobs.Blocked,
			goesOn: func(w *world, _ tenancy.Principal, j jobs.Job) { w.act(j, jobs.ByUnblock) }},
		"worked on, and given back": {begin: claimed, gated: jobs.Assigned, goesOn: func(w *world, a tenancy.Principal, j jobs.Job) {
			if _, err := w.dispatch.Release(w.ctx, a, ref(j), "", nil); err != nil {
				w.t.Fatal(err)
			}
		}},
		"worked on, and lost": {begin: claimed, gated: jobs.Assigned, goesOn: func(w *world, _ tenancy.Principal, j jobs.Job) {
			w.expire(j)
			if _, err := w.dispatch.Reap(w.ctx); err != nil {
				w.t.Fatal(err)
			}
		}},
		"in review": {change: []func(*jobs.New){reviewed}, begin: func(w *world, a tenancy.Principal, _ jobs.Job) jobs.Job {
			held := w.claim(a)
			w.complete(a, held)
			return held
		}, gated: jobs.InReview, goesOn: func(w *world, _ tenancy.Principal, j jobs.Job) { w.act(j, jobs.ByReject) }},
		"aborted": {begin: acted(jobs.ByCancel), gated: jobs.Aborted, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			agent := w.agent("claude-1")
			parent := w.job("parent", c.change...)
			held := parent
			if c.begin != nil {
				held = c.begin(w, agent, parent)
			}
			child := w.job("child", needs("gpu:h100"))
			_, err := w.jobs.LinkParent(w.ctx, w.owner, child.Key, parent.Key, true)
			if c.refused != fault.Is(err, fault.InvalidTransition) || !c.refused && err != nil {
				t.Fatalf("gate: %v", err)
			}
			if now := w.want(parent, c.gated); (now.Lease != nil) != (c.gated == jobs.Assigned) {
				t.Errorf("lease %+v", now.Lease)
			}
			if c.refused {
				return
			}
			if c.goesOn != nil {
				c.goesOn(w, agent, held)
			}
			w.waitsFor(parent, jobs.WaitDependency)
			w.nothing(agent, dispatch.ReasonEmpty)
			w.consistent()
		})
	}
}

// A child that has ended is no gate. One that is retried is one again, unless its
// parent was claimed meanwhile.
func TestAGateClosesAgainWithARetry(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	parent, child := w.job("parent"), w.job("child", needs("gpu:h100"))
	w.act(child, jobs.ByCancel)
	w.gate(child, parent, true)
	w.want(parent, jobs.Ready)
	w.act(child, jobs.ByRetry)
	w.waitsFor(parent, jobs.WaitDependency)
	w.nothing(agent, dispatch.ReasonEmpty)
	w.act(child, jobs.ByFinish)
	held := w.claim(agent)
	w.act(child, jobs.ByRetry)
	if now := w.want(parent, jobs.Assigned); now.Epoch != held.Epoch || now.Lease == nil {
		t.Errorf("the lease went away: %+v", now.Lease)
	}
	w.consistent()
}

// A parent is free again when the gate is taken away, with the link or without it, and
// whoever waits for a job gets it at once.
func TestAGateThatIsTakenAwayFreesTheParent(t *testing.T) {
	for name, open := range map[string]func(w *world, child, parent jobs.Job) error{
		"gate alone": func(w *world, child, parent jobs.Job) error {
			_, err := w.jobs.LinkParent(w.ctx, w.owner, child.Key, parent.Key, false)
			return err
		},
		"the link": func(w *world, child, parent jobs.Job) error {
			_, err := w.jobs.Unlink(w.ctx, w.owner, child.Key, parent.Key, jobs.Parent)
			return err
		},
		"all links": func(w *world, child, parent jobs.Job) error {
			_, err := w.jobs.Unlink(w.ctx, w.owner, child.Key, parent.Key, "")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			<-w.listening
			agent := w.agent("claude-1")
			parent, child := w.job("parent"), w.job("child", needs("gpu:h100"))
			w.gate(child, parent, true)
			got := make(chan dispatch.Claimed, 1)
			go func() {
				claimed, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{Wait: waitlist.MaxWait})
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
			if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM job_dependency WHERE type = 'gate'`); n != 0 {
				t.Errorf("%d gates are left", n)
			}
			w.consistent()
		})
	}
}

// Jobs that wait for one another by a gate fail as others do, but a parent whose child
// has failed goes on.
func TestACycleThroughAGateFails(t *testing.T) {
	w := newWorld(t)
	first := w.job("first")
	parent, child := w.job("parent", dependsOn(first.Key)), w.job("child", dependsOn(first.Key))
	both, other := w.job("both", dependsOn(first.Key)), w.job("other", dependsOn(first.Key))
	wait := func(job, dependsOn jobs.Job, kind jobs.LinkType) {
		dbfactory.Exec(t, w.db, `INSERT INTO job_dependency (workspace_id, job_id, depends_on_id, type, created_by) VALUES ($1, $2, $3, $4, 'test')`,
			w.workspace, job.ID, dependsOn.ID, string(kind))
	}
	wait(parent, child, jobs.Gate)
	wait(child, parent, jobs.Blocks)
	wait(both, other, jobs.Gate)
	wait(both, other, jobs.Blocks)
	wait(other, both, jobs.Blocks)
	if _, err := w.dispatch.FailCycles(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.want(child, jobs.Failed)
	w.want(both, jobs.Failed)
	w.want(other, jobs.Failed)
	// Where the child was the first to fail the parent waits for nothing of the cycle.
	if now := w.get(parent); now.Status != jobs.Failed {
		w.act(first, jobs.ByFinish)
		w.want(parent, jobs.Ready)
	}
	w.consistent()
}

// A retry of a child and a claim of its parent, at the same moment: the claim gets the
// parent before the retry, or not at all.
func TestARetryOfAChildAndAClaimOfItsParent(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	for _, hold := range []string{"job", "factory", "agent"} {
		t.Run(hold+" held", func(t *testing.T) {
			w := inWorkspace(t, d, dbfactory.Workspace(t, d))
			agent := w.agent("claude-1")
			child, parent := w.job("child", needs("gpu:h100")), w.job("parent")
			w.gate(child, parent, true)
			w.act(child, jobs.ByCancel)
			retries := racer{"retry", func(w *world, _ tenancy.Principal, _ jobs.Job) error {
				_, err := w.dispatch.Act(w.ctx, w.owner, child.Key, dispatch.Action{Verb: jobs.ByRetry})
				return err
			}}
			errs := w.race(hold, agent, parent, claims, retries)
			if w.judge(errs, claims, retries); errs[1] != nil {
				t.Errorf("retry: %v", errs[1])
			}
			if errs[0] == nil {
				w.want(parent, jobs.Assigned)
			} else {
				w.waitsFor(parent, jobs.WaitDependency)
			}
			w.consistent()
		})
	}
}
