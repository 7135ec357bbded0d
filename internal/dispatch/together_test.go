package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Claims that come together get different jobs, the most urgent ones there are,
// and those that get none learn why.
func TestClaimsTogetherTakeTheMostUrgentJobs(t *testing.T) {
	w := newTestWorkspace(t)
	agents := w.Crew(40)
	for i := range 60 {
		w.Job(fmt.Sprint("job ", i), priority(i%10))
	}
	given := make([]jobs.Job, len(agents))
	dispatchtest.AtOnce(agents, func(i int, agent tenancy.Principal) {
		got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{})
		if err != nil || len(got.Jobs) != 1 || got.Jobs[0].Lease.AgentID != agent.Agent {
			t.Errorf("%s got %v, %v", agent.Name, got, err)
			return
		}
		given[i] = got.Jobs[0]
	})
	met := map[string]bool{}
	for _, j := range given {
		if met[j.Key] {
			t.Errorf("%s was given twice", j.Key)
		}
		met[j.Key] = true
	}
	least := dbfactory.Int(t, w.DB, `SELECT min(priority) FROM job WHERE status = 'assigned'`)
	if left := dbfactory.Int(t, w.DB, `SELECT max(priority) FROM job WHERE status = 'ready'`); left > least {
		t.Errorf("a job of priority %d was left while one of %d was given", left, least)
	}
	w.Consistent()
}

// However many ask at once, no factory and no agent gets more than its seats.
func TestClaimsTogetherKeepToTheSeats(t *testing.T) {
	w := newTestWorkspace(t)
	one := func(r *fleet.Registration) { r.Factory.Name, r.Factory.Seats, r.MaxConcurrentJobs = "small", 3, 2 }
	agents := w.Crew(10, one)
	for i := range 20 {
		w.Job(fmt.Sprint("job ", i))
	}
	var mu sync.Mutex
	given, refused := 0, 0
	dispatchtest.AtOnce(append(agents, agents...), func(_ int, agent tenancy.Principal) {
		got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Max: 2})
		mu.Lock()
		defer mu.Unlock()
		given += len(got.Jobs)
		switch {
		case err != nil:
			t.Error(err)
		case len(got.Jobs) == 0 && got.Reason != claim.ReasonNoSeats:
			t.Errorf("%s got nothing because %q", agent.Name, got.Reason)
		case len(got.Jobs) == 0:
			refused++
		}
	})
	if given != 3 || refused < 17 {
		t.Errorf("%d jobs were given to a factory of three seats; %d were refused", given, refused)
	}
	w.Consistent()
}

// What was written for a claim whose caller went away does not stay: there are as
// many leases as answers.
func TestACancelledClaimLeavesNoLease(t *testing.T) {
	w := newTestWorkspace(t)
	agents := w.Crew(30)
	for i := range 200 {
		w.Job(fmt.Sprint("job ", i))
	}
	var mu sync.Mutex
	answered, gone := 0, 0
	for range 4 {
		ctx, cancel := context.WithCancel(w.Ctx)
		dispatchtest.AtOnce(agents, func(i int, agent tenancy.Principal) {
			mine := w.Ctx
			if i%2 == 0 {
				mine = ctx
			}
			got, err := w.Dispatch.Claim(mine, agent, claim.Request{})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				answered += len(got.Jobs)
			case errors.Is(err, context.Canceled):
				gone++
			default:
				t.Error(err)
			}
			if answered%7 == 3 {
				cancel()
			}
		})
		cancel()
	}
	if leases := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_lease`); leases != answered || gone == 0 {
		t.Errorf("%d leases for %d answers; %d callers went away", leases, answered, gone)
	}
	w.Consistent()
}

// A row that somebody holds keeps only those waiting that need it.
func TestAHeldRowKeepsNoNeighbour(t *testing.T) {
	w := newTestWorkspace(t)
	agents := w.Crew(12)
	for i := range 12 {
		w.Job(fmt.Sprint("job ", i))
	}
	release := w.Hold(`SELECT FROM agent WHERE name = 'agent-0' FOR UPDATE`)
	w.late(release, agents, func(_ int, agent tenancy.Principal) error {
		got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{})
		if err == nil && len(got.Jobs) != 1 {
			err = fmt.Errorf("%s got nothing: %s", agent.Name, got.Reason)
		}
		return err
	})
	// The same for those that hand in.
	var held []jobs.Job
	for _, a := range agents {
		list, err := w.Dispatch.Claim(w.Ctx, a, claim.Request{})
		if err != nil || len(list.Jobs) > 0 {
			t.Fatal(list, err)
		}
		held = append(held, w.heldBy(a))
	}
	release = w.Hold(`SELECT FROM job WHERE id = $1 FOR UPDATE`, held[0].ID)
	w.late(release, agents, func(i int, agent tenancy.Principal) error {
		_, err := w.Dispatch.Complete(w.Ctx, agent, ref(held[i]), report.Completion{})
		return err
	})
	w.Consistent()
}

// late runs do for all agents at once and lets go of what keeps the first one when
// all the others have come back.
func (w *testWorkspace) late(release func(), agents []tenancy.Principal, do func(int, tenancy.Principal) error) {
	w.T.Helper()
	defer release()
	var others sync.WaitGroup
	others.Add(len(agents) - 1)
	var first sync.WaitGroup
	back := make(chan struct{})
	for i, a := range agents {
		first.Go(func() {
			err := do(i, a)
			if err != nil {
				w.T.Errorf("%s: %v", a.Name, err)
			}
			if i > 0 {
				others.Done()
				return
			}
			select {
			case <-back:
			default:
				w.T.Errorf("%s did not wait", a.Name)
			}
		})
	}
	others.Wait()
	close(back)
	release()
	first.Wait()
}

// heldBy returns the one job that an agent holds.
func (w *testWorkspace) heldBy(agent tenancy.Principal) jobs.Job {
	w.T.Helper()
	key := dbfactory.Text(w.T, w.DB, `SELECT j.key FROM job j JOIN job_lease l ON l.job_id = j.id WHERE l.agent_id = $1`, agent.Agent)
	j, err := w.Jobs.Get(w.Ctx, w.Owner, key)
	if err != nil {
		w.T.Fatal(err)
	}
	return j
}

// Leases that end together end each in its own way.
func TestLeasesThatEndTogether(t *testing.T) {
	w := newTestWorkspace(t)
	agents := w.Crew(30)
	for i := range 30 {
		w.Job(fmt.Sprint("job ", i), reviewed)
	}
	last := w.Job("last", dependsOn("FB-1", "FB-2"), priority(0))
	held := make([]jobs.Job, len(agents))
	for i, a := range agents {
		held[i] = w.Claim(a)
	}
	dispatchtest.AtOnce(agents, func(i int, agent tenancy.Principal) {
		var err error
		var code fault.Code
		after := jobs.InReview
		switch i % 6 {
		case 0, 1:
			var done report.Ended
			done, err = w.Dispatch.Complete(w.Ctx, agent, ref(held[i]), report.Completion{Summary: agent.Name})
			if err == nil && string(done.Result) != fmt.Sprintf(`{"summary":%q}`, agent.Name) {
				t.Errorf("%s handed in %s", agent.Name, done.Result)
			}
		case 2:
			after = jobs.Failed
			_, err = w.Dispatch.Fail(w.Ctx, agent, ref(held[i]), report.Failure{Error: "broken"})
		case 3:
			after = jobs.Ready
			_, err = w.Dispatch.Release(w.Ctx, agent, ref(held[i]), report.Release{Reason: "tired", Checkpoint: []byte(`{"at": 3}`)})
		case 4:
			after, code = jobs.Assigned, fault.StaleEpoch
			_, err = w.Dispatch.Complete(w.Ctx, agent, lease.Ref{Job: held[i].Key, Epoch: 2}, report.Completion{})
		case 5:
			after, code = jobs.Assigned, fault.StaleEpoch
			_, err = w.Dispatch.Complete(w.Ctx, agents[(i+1)%len(agents)], ref(held[i]), report.Completion{})
		}
		if code == "" && err != nil || code != "" && !fault.Is(err, code) {
			t.Errorf("%d: %v; want %q", i, err, code)
		}
		now, err := w.Jobs.Get(w.Ctx, w.Owner, held[i].Key)
		if err != nil || now.Status != after {
			t.Errorf("%d: %s is %s, %v; want %s", i, held[i].Key, now.Status, err, after)
		}
	})
	w.Want(last, jobs.Waiting)
	w.Consistent()
}

// Jobs that others wait for, completed at once with many more, make them claimable.
func TestCompletionsTogetherFreeTheirDependents(t *testing.T) {
	w := newTestWorkspace(t)
	agents := w.Crew(20)
	var keys []string
	for i := range 20 {
		keys = append(keys, w.Job(fmt.Sprint("job ", i)).Key)
	}
	last, other := w.Job("last", dependsOn(keys[:10]...)), w.Job("other", dependsOn(keys[0]))
	held := make([]jobs.Job, len(agents))
	for i, a := range agents {
		held[i] = w.Claim(a)
	}
	dispatchtest.AtOnce(agents, func(i int, agent tenancy.Principal) { w.Complete(agent, held[i]) })
	w.Want(last, jobs.Ready)
	w.Want(other, jobs.Ready)
	w.Consistent()
}
