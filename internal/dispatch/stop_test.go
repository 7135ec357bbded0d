package dispatch_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/dispatch/stop"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func (w *testWorkspace) stop(hold fleet.Hold, products ...string) {
	w.T.Helper()
	if _, err := w.Dispatch.StopFleet(w.Ctx, w.Owner, stop.Order{Hold: hold, Reason: "the model writes nonsense", Products: products}); err != nil {
		w.T.Fatalf("stop %v: %v", products, err)
	}
}

func (w *testWorkspace) release(products ...string) {
	w.T.Helper()
	if _, err := w.Dispatch.ReleaseFleet(w.Ctx, w.Owner, products); err != nil {
		w.T.Fatalf("release %v: %v", products, err)
	}
}

// directive returns what the next heartbeat of an agent says of its only lease.
func (w *testWorkspace) directive(agent tenancy.Principal) (directive, reason string) {
	w.T.Helper()
	beat, err := w.Dispatch.Heartbeat(w.Ctx, agent, report.Heartbeat{Agent: agent.Name, BootID: agent.Boot, Status: "working"})
	if err != nil || len(beat.Leases) != 1 {
		w.T.Fatalf("heartbeat of %s = %+v, %v; want one lease", agent.Name, beat.Leases, err)
	}
	return beat.Leases[0].Directive, beat.Leases[0].Reason
}

// What a stop covers is given to nobody, whatever else is claimed, and is claimed again once
// it is released.
func TestAStopHoldsClaims(t *testing.T) {
	for name, c := range map[string]struct{ stopped []string }{"the whole fleet": {}, "a product": {[]string{"billing"}}} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorkspace(t)
			w.Product("billing", jobs.ProductSettings{})
			job := w.Job("held", inProduct("billing"))
			ada := w.Agent("ada")
			w.stop(fleet.HoldClaims, c.stopped...)
			w.Nothing(ada, claim.ReasonStopped)
			if _, err := w.Dispatch.Claim(w.Ctx, ada, claim.Request{Job: job.Key}); !fault.Is(err, fault.NotClaimable) {
				t.Errorf("the claim of a named job = %v; want it refused", err)
			}
			other := w.Job("elsewhere")
			if len(c.stopped) > 0 {
				if got := w.Claim(ada); got.ID != other.ID {
					t.Errorf("claimed %s; want %s of another product", got.Key, other.Key)
				}
				w.Complete(ada, w.Get(other))
			} else {
				w.Act(other, jobs.ByCancel)
			}
			w.release(c.stopped...)
			if got := w.Claim(ada); got.ID != job.ID {
				t.Errorf("claimed %s after the release; want %s", got.Key, job.Key)
			}
			w.Consistent()
		})
	}
}

// A completion that takes the next job gets none either.
func TestAStopHoldsTheNextJob(t *testing.T) {
	w := newTestWorkspace(t)
	first, second := w.Job("first", priority(5)), w.Job("second")
	ada := w.Agent("ada")
	held := w.Claim(ada)
	w.stop(fleet.HoldClaims)
	done, err := w.Dispatch.Complete(w.Ctx, ada, ref(held), report.Completion{Next: &lease.Next{Max: 1}})
	if err != nil || len(done.Next.Jobs) != 0 {
		t.Fatalf("complete with next = %d jobs, %v; want none", len(done.Next.Jobs), err)
	}
	w.Want(first, jobs.Completed)
	w.Want(second, jobs.Ready)
}

// Holders of stopped jobs are directed to pause; what was paused goes on after the release, and
// who was not stopped works on.
func TestAStopOfAllPausesTheWork(t *testing.T) {
	w := newTestWorkspace(t)
	w.Product("billing", jobs.ProductSettings{})
	answering := w.Job("answers", inProduct("billing"))
	ada := w.Agent("ada")
	one := w.Claim(ada)
	silent := w.Job("is silent", inProduct("billing"))
	bo := w.Agent("bo")
	two := w.Claim(bo)
	w.Job("elsewhere")
	cy := w.Agent("cy")
	three := w.Claim(cy)
	late := w.Job("released in time", inProduct("billing"))
	di := w.Agent("di")
	w.Claim(di)

	w.stop(fleet.HoldAll, "billing")
	if d, why := w.directive(ada); d != lease.Pause || !strings.Contains(why, "the model writes nonsense") || !strings.Contains(why, w.Owner.Name) {
		t.Errorf("ada is told %q, %q; want to pause, by whom and why", d, why)
	}
	if d, _ := w.directive(cy); d != lease.Continue {
		t.Errorf("the agent of another product is told %q", d)
	}
	if _, err := w.Dispatch.Release(w.Ctx, ada, ref(one), report.Release{Checkpoint: []byte(`{"at": 1}`)}); err != nil {
		t.Fatal(err)
	}
	paused := w.Want(answering, jobs.Paused)
	if paused.StatusBy.ID != tenancy.Stop {
		t.Errorf("it is paused by %+v", paused.StatusBy)
	}
	dbfactory.Exec(t, w.DB, `UPDATE job_lease SET grace_ends_at = clock_timestamp() WHERE job_id = $1`, two.ID)
	if _, err := w.Dispatch.Reap(w.Ctx); err != nil {
		t.Fatal(err)
	}
	w.Want(silent, jobs.Paused)

	w.release()
	w.Want(answering, jobs.Ready)
	w.Want(silent, jobs.Ready)
	if d, _ := w.directive(di); d != lease.Continue {
		t.Errorf("di is told %q after the release of %s", d, late.Key)
	}
	w.Complete(cy, three)
	w.Consistent()
}

// A person's own pause and cancel stay what they are under a stop and after it.
func TestAStopLeavesWhatAPersonDecided(t *testing.T) {
	w := newTestWorkspace(t)
	w.Job("to pause")
	ada := w.Agent("ada")
	one := w.Claim(ada)
	w.Job("to cancel")
	bo := w.Agent("bo")
	two := w.Claim(bo)
	w.Act(one, jobs.ByPause)
	w.Act(two, jobs.ByCancel)
	w.stop(fleet.HoldAll)
	if d, why := w.directive(ada); d != lease.Pause || strings.Contains(why, "nonsense") {
		t.Errorf("ada is told %q, %q", d, why)
	}
	if d, _ := w.directive(bo); d != lease.Cancel {
		t.Errorf("bo is told %q; want the cancel", d)
	}
	if _, err := w.Dispatch.Release(w.Ctx, ada, ref(one), report.Release{}); err != nil {
		t.Fatal(err)
	}
	w.release()
	w.Want(one, jobs.Paused)
	if d, _ := w.directive(bo); d != lease.Cancel {
		t.Errorf("bo is told %q after the release; want the cancel", d)
	}
}

// A person's pause takes the place of a stop's: the job stays paused after the release.
func TestAPersonsPauseOutlivesAStop(t *testing.T) {
	w := newTestWorkspace(t)
	w.Job("to pause")
	ada := w.Agent("ada")
	one := w.Claim(ada)
	w.stop(fleet.HoldAll)
	w.Act(one, jobs.ByPause)
	w.release()
	if d, why := w.directive(ada); d != lease.Pause || strings.Contains(why, "nonsense") {
		t.Errorf("ada is told %q, %q after the release; want the person's pause", d, why)
	}
	if _, err := w.Dispatch.Release(w.Ctx, ada, ref(one), report.Release{}); err != nil {
		t.Fatal(err)
	}
	w.Want(one, jobs.Paused)
	if n, err := w.Dispatch.EnforceStops(w.Ctx); n != 0 || err != nil {
		t.Errorf("enforce = %d, %v; want nothing to do", n, err)
	}
	w.Want(one, jobs.Paused)
	w.Consistent()
}

// A job that has used more than its own budget meanwhile stays paused after the release, until
// that is raised: an agent would have to give it back at once.
func TestAUsedUpJobStaysPausedAfterAStop(t *testing.T) {
	w := newTestWorkspace(t)
	one, two := int64(100*cent), int64(200*cent)
	job := w.Job("dear", func(j *jobs.New) { j.BudgetNanos = &one })
	other := w.Job("cheap")
	ada, bo := w.Agent("ada"), w.Agent("bo")
	dear, cheap := w.Claim(ada), w.Claim(bo)
	w.stop(fleet.HoldAll)
	w.spendsAll(ada, dear, time.Now(), 110)
	for agent, held := range map[*tenancy.Principal]jobs.Job{&ada: dear, &bo: cheap} {
		if _, err := w.Dispatch.Release(w.Ctx, *agent, ref(held), report.Release{}); err != nil {
			t.Fatal(err)
		}
	}
	w.release()
	w.Want(other, jobs.Ready)
	w.Want(job, jobs.Paused)
	if n, err := w.Dispatch.EnforceStops(w.Ctx); n != 0 || err != nil {
		t.Errorf("enforce = %d, %v; want nothing to do", n, err)
	}
	now := w.Get(job)
	if _, err := w.Jobs.Patch(w.Ctx, w.Owner, job.Key, jobs.Patch{Version: now.Version, Spec: jobs.Spec{BudgetNanos: &two},
		Set: []string{"budget_usd"}}); err != nil {
		t.Fatal(err)
	}
	if n, err := w.Dispatch.EnforceStops(w.Ctx); n != 1 || err != nil {
		t.Errorf("enforce after the raise = %d, %v; want one job", n, err)
	}
	w.Want(job, jobs.Ready)
	w.Consistent()
}

// Nobody takes back what a stop directs but with its release: each time would give the agent
// another minute.
func TestAStopsPauseIsNotWithdrawn(t *testing.T) {
	w := newTestWorkspace(t)
	w.Product("billing", jobs.ProductSettings{})
	w.Job("stopped", inProduct("billing"))
	ada := w.Agent("ada")
	one := w.Claim(ada)
	resume := func() error {
		_, err := w.Dispatch.Act(w.Ctx, w.Owner, one.Key, actions.Action{Verb: jobs.ByResume})
		return err
	}
	w.stop(fleet.HoldAll, "billing")
	if err := resume(); !fault.Is(err, fault.InvalidTransition) {
		t.Errorf("resume = %v; want it refused", err)
	}
	w.Act(one, jobs.ByPause)
	if err := resume(); !fault.Is(err, fault.InvalidTransition) {
		t.Errorf("resume of a person's pause under a stop = %v; want it refused", err)
	}
	if _, err := w.Dispatch.Undo(w.Ctx, w.Owner, one.Key, w.Get(one).Version); !fault.Is(err, fault.InvalidTransition) {
		t.Errorf("undo = %v; want it refused", err)
	}
	w.stop(fleet.HoldClaims, "billing")
	if err := resume(); err != nil {
		t.Errorf("resume where running jobs may end = %v", err)
	}
	if d, _ := w.directive(ada); d != lease.Continue {
		t.Errorf("ada is told %q", d)
	}
}

// What a stop of all has directed is taken back where one of claims takes its place, also
// where that finds the lease locked.
func TestAMilderStopLetsTheWorkGoOn(t *testing.T) {
	w := newTestWorkspace(t)
	w.Job("a job")
	ada := w.Agent("ada")
	held := w.Claim(ada)
	w.stop(fleet.HoldAll)
	done := w.Hold("SELECT FROM job_lease WHERE job_id = $1 FOR UPDATE", held.ID)
	w.stop(fleet.HoldClaims)
	done()
	if n, err := w.Dispatch.EnforceStops(w.Ctx); n != 1 || err != nil {
		t.Errorf("enforce = %d, %v; want one lease", n, err)
	}
	if d, _ := w.directive(ada); d != lease.Continue {
		t.Errorf("ada is told %q; want to go on", d)
	}
}

// While somebody writes a release nobody directs by what it ends: nothing would take that back.
func TestNothingIsDirectedBesideARelease(t *testing.T) {
	w := newTestWorkspace(t)
	w.Job("a job")
	ada := w.Agent("ada")
	w.Claim(ada)
	dbfactory.Exec(t, w.DB, `INSERT INTO fleet_stop (workspace_id, id, hold, reason, by_kind, by_id, by_name) VALUES ($1, $2, 'all', 'fire', 'person', '', 'Olga')`,
		w.Owner.Workspace, ids.New())
	done := w.Hold("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", fleet.StopLock(w.Owner.Workspace))
	if n, err := w.Dispatch.EnforceStops(w.Ctx); n != 0 || err != nil {
		t.Errorf("enforce beside a release = %d, %v; want nothing done", n, err)
	}
	done()
	if n, err := w.Dispatch.EnforceStops(w.Ctx); n != 1 || err != nil {
		t.Errorf("enforce = %d, %v; want one lease", n, err)
	}
}

// From the moment that a stop is committed no lease is given, however many claims are under way.
func TestNoClaimAfterAStopTogether(t *testing.T) {
	w := newTestWorkspace(t)
	for range 60 {
		w.Job("a job")
	}
	crew := w.Crew(20)
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, agent := range crew {
			wg.Go(func() {
				for range 3 {
					if _, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	})
	w.stop(fleet.HoldClaims)
	held := w.leases()
	wg.Wait()
	for _, agent := range crew {
		w.Nothing(agent, claim.ReasonStopped)
	}
	if after := w.leases(); after != held {
		t.Errorf("%d leases when the stop had returned, %d later", held, after)
	}
}

func (w *testWorkspace) leases() (n int) {
	w.T.Helper()
	err := w.DB.In(w.Ctx, db.Workspace(w.Owner.Workspace), func(tx db.Tx) error {
		return tx.QueryRow(w.Ctx, "SELECT count(*) FROM job_lease").Scan(&n)
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return n
}

// A stop waits for the claims under way, and claims do not wait for a stop that is being written.
func TestAClaimWaitsForNoStop(t *testing.T) {
	w := newTestWorkspace(t)
	job := w.Job("a job")
	ada := w.Agent("ada")
	done := w.Hold("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", fleet.StopLock(w.Owner.Workspace))
	w.Nothing(ada, claim.ReasonStopped)
	done()
	if got := w.Claim(ada); got.ID != job.ID {
		t.Errorf("claimed %s", got.Key)
	}
}

// An agent that waits gets its job with the release.
func TestAReleaseWakesWhoWaits(t *testing.T) {
	w := newTestWorkspace(t)
	job := w.Job("a job")
	ada := w.Agent("ada")
	w.stop(fleet.HoldClaims)
	got := make(chan claim.Result, 1)
	go func() {
		result, err := w.Dispatch.Claim(w.Ctx, ada, claim.Request{Wait: 20 * time.Second})
		if err != nil {
			t.Error(err)
		}
		got <- result
	}()
	w.Waits()
	w.release()
	if result := <-got; len(result.Jobs) != 1 || result.Jobs[0].ID != job.ID {
		t.Errorf("the waiting claim got %+v", result)
	}
}

// What a server left undone that was killed behind the commit of a stop, or of a release, the
// coordinator does.
func TestStopsAreEnforcedLater(t *testing.T) {
	w := newTestWorkspace(t)
	job := w.Job("a job")
	ada := w.Agent("ada")
	held := w.Claim(ada)
	dbfactory.Exec(t, w.DB, `INSERT INTO fleet_stop (workspace_id, id, hold, reason, by_kind, by_id, by_name) VALUES ($1, $2, 'all', 'fire', 'person', '', 'Olga')`,
		w.Owner.Workspace, ids.New())
	if n, err := w.Dispatch.EnforceStops(w.Ctx); n != 1 || err != nil {
		t.Fatalf("enforce = %d, %v; want one lease", n, err)
	}
	if n, err := w.Dispatch.EnforceStops(w.Ctx); n != 0 || err != nil {
		t.Fatalf("enforce again = %d, %v; want nothing to do", n, err)
	}
	if _, err := w.Dispatch.Release(w.Ctx, ada, ref(held), report.Release{}); err != nil {
		t.Fatal(err)
	}
	w.Want(job, jobs.Paused)
	dbfactory.Exec(t, w.DB, "UPDATE fleet_stop SET released_at = now()")
	if n, err := w.Dispatch.EnforceStops(w.Ctx); n != 1 || err != nil {
		t.Fatalf("enforce the release = %d, %v; want one job", n, err)
	}
	w.Want(job, jobs.Ready)
	var left int
	err := w.DB.In(w.Ctx, db.Workspace(w.Owner.Workspace), func(tx db.Tx) error {
		return tx.QueryRow(w.Ctx, "SELECT count(*) FROM fleet_stop").Scan(&left)
	})
	if err != nil || left != 0 {
		t.Errorf("%d stops are left, %v", left, err)
	}
}

// Bad orders change nothing and say what must be.
func TestStopsAreChecked(t *testing.T) {
	w := newTestWorkspace(t)
	w.Product("billing", jobs.ProductSettings{})
	for name, c := range map[string]struct {
		order stop.Order
		field string
	}{
		"no reason":      {stop.Order{Hold: fleet.HoldAll, Reason: " "}, "reason"},
		"a long reason":  {stop.Order{Hold: fleet.HoldAll, Reason: strings.Repeat("x", 501)}, "reason"},
		"two lines":      {stop.Order{Hold: fleet.HoldAll, Reason: "a\nb"}, "reason"},
		"unknown hold":   {stop.Order{Hold: "everything", Reason: "x"}, "hold"},
		"no hold":        {stop.Order{Reason: "x"}, "hold"},
		"no such thing":  {stop.Order{Hold: fleet.HoldAll, Reason: "x", Products: []string{"billing", "nope"}}, "products[1]"},
		"an empty name":  {stop.Order{Hold: fleet.HoldAll, Reason: "x", Products: []string{""}}, "products[0]"},
		"too many names": {stop.Order{Hold: fleet.HoldAll, Reason: "x", Products: make([]string, 101)}, "products"},
	} {
		_, err := w.Dispatch.StopFleet(w.Ctx, w.Owner, c.order)
		if f := fault.From(err); f == nil || f.Code != fault.Validation || f.Fields[c.field] == "" {
			t.Errorf("%s = %v; want %s refused", name, err, c.field)
		}
	}
	member := w.Owner
	member.Role = tenancy.RoleMember
	if _, err := w.Dispatch.StopFleet(w.Ctx, member, stop.Order{Hold: fleet.HoldAll, Reason: "x"}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a member stops: %v", err)
	}
	if stops, err := w.Dispatch.Stops(w.Ctx, w.Owner); err != nil || len(stops) != 0 {
		t.Errorf("stopped: %+v, %v", stops, err)
	}
	if _, err := w.Dispatch.ReleaseFleet(w.Ctx, w.Owner, []string{"billing"}); !fault.Is(err, fault.Validation) {
		t.Errorf("release of what is not stopped = %v", err)
	}
	w.stop(fleet.HoldClaims)
	if _, err := w.Dispatch.ReleaseFleet(w.Ctx, w.Owner, []string{"billing"}); !fault.Is(err, fault.Validation) {
		t.Errorf("release of a product of the whole fleet = %v", err)
	}
	w.release()
	w.release()
}
