package dispatch_test

import (
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// A victim, or its lease, that somebody else has locked is left alone and waited for by nobody, and so is
// a workspace in which another coordinator decides.
func TestARequestWaitsForNobody(t *testing.T) {
	for name, lock := range map[string]string{
		"the job":               `SELECT FROM job WHERE id = $1 FOR NO KEY UPDATE`,
		"the lease":             `SELECT FROM job_lease WHERE job_id = $1 FOR UPDATE`,
		"the other coordinator": `SELECT pg_advisory_xact_lock(hashtextextended('preempt:' || workspace_id, 0)) FROM job WHERE id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newSeatTest(t)
			release := w.Hold(lock, w.low.ID)
			asked := w.isAsked(w.low)
			release()
			if asked || w.request(w.low) != "" {
				t.Error("it was asked")
			}
			if !w.isAsked(w.low) {
				t.Fatal("it is not asked later")
			}
			w.Act(w.urgent, jobs.ByCancel)
			release = w.Hold(lock, w.low.ID)
			w.preempt()
			release()
			if w.request(w.low) != "asked" {
				t.Error("the request was ended")
			}
			w.preempt()
			if d, _ := w.directive(w.ada); d != lease.Continue || w.request(w.low) != "withdrawn" {
				t.Errorf("ada is told %q, the request is %s", d, w.request(w.low))
			}
			w.Consistent()
		})
	}
}

// A victim that is completed at the moment at which it is asked is completed: by a completion that comes
// first, and by one that waits for the request to be written.
func TestACompletionAndARequestTogether(t *testing.T) {
	w := newSeatTest(t)
	for range 10 {
		bothAtOnce(func() { w.Complete(w.ada, w.low) }, w.preempt)
		w.Want(w.low, jobs.Completed)
		w.preempt()
		if got := w.request(w.low); got != "" && got != "ended" {
			t.Errorf("the request is %s", got)
		}
		got := w.Claim(w.ada)
		if got.ID != w.urgent.ID {
			t.Errorf("the seat went to %s", got.Key)
		}
		w.preempt()
		w.Complete(w.ada, got)
		w.Job("low")
		w.low = w.Claim(w.ada)
		w.saves(w.ada, w.low)
		w.urgent = w.Job("urgent", priority(9))
	}
	w.Consistent()
}

// Two coordinators at once ask one agent for each job, and each agent once.
func TestTwoCoordinatorsAskTogether(t *testing.T) {
	w := newTestWorkspace(t)
	other := inWorkspace(t, w.DB, w.Workspace)
	w.gap(1)
	crew := w.Crew(6, oneSeat)
	for _, agent := range crew {
		w.Job("low")
		w.saves(agent, w.Claim(agent))
	}
	for range 4 {
		w.Job("urgent", priority(9))
	}
	for range 3 {
		bothAtOnce(w.preempt, other.preempt)
		const fours = `SELECT count(*) FROM preemption WHERE state = 'asked'`
		const apart = `SELECT count(DISTINCT job_id) + count(DISTINCT victim_id) FROM preemption WHERE state = 'asked'`
		if n := dbfactory.Int(t, w.DB, fours); n != 4 || dbfactory.Int(t, w.DB, apart) != 8 {
			t.Fatalf("%d are asked", n)
		}
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM event WHERE type = 'job.preempt_asked' AND epoch IS NOT NULL`); n != 4 {
		t.Errorf("%d events", n)
	}
	w.giveAsked(crew)
	for _, agent := range crew {
		w.preempt()
		w.completeHeld(agent)
	}
	w.Consistent()
}

// bothAtOnce runs two things at the same time.
func bothAtOnce(one, two func()) {
	var both sync.WaitGroup
	both.Go(one)
	both.Go(two)
	both.Wait()
}

// worksOn returns the jobs that an agent works on.
func (w *testWorkspace) worksOn(agent tenancy.Principal) []jobs.Job {
	w.T.Helper()
	list, _, err := w.Jobs.List(w.Ctx, w.Owner, jobs.Filter{Agent: agent.Name})
	if err != nil {
		w.T.Fatal(err)
	}
	return list
}

// giveAsked gives back what the agents are asked for.
func (w *testWorkspace) giveAsked(agents []tenancy.Principal) {
	w.T.Helper()
	for _, agent := range agents {
		for _, j := range w.worksOn(agent) {
			if j.Lease.GivesSeat() {
				w.gives(agent, j)
			}
		}
	}
}

// completeHeld completes what an agent works on.
func (w *testWorkspace) completeHeld(agent tenancy.Principal) {
	w.T.Helper()
	for _, j := range w.worksOn(agent) {
		w.Complete(agent, j)
	}
}
