package dispatch_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// submitter returns an agent whose token lets it create jobs.
func (w *testWorkspace) submitter(scope tenancy.Scope, change ...func(*fleet.Registration)) tenancy.Principal {
	w.T.Helper()
	token := w.enrolment(scope)
	token.MaySubmit = true
	return w.registered(token, change...)
}

func (w *testWorkspace) submit(who tenancy.Principal, holding lease.Ref, change ...func(*jobs.New)) (jobs.Job, error) {
	n := jobs.New{Spec: jobs.Spec{Title: "found"}}
	for _, c := range change {
		c(&n)
	}
	made, err := w.Dispatch.Submit(w.Ctx, who, nil, holding, n)
	if err != nil {
		return jobs.Job{}, err
	}
	return made.Jobs[0], nil
}

// What an agent finds while it works becomes a job that is linked to the one at work,
// within its token's scope and under the lease that it names.
func TestAnAgentSubmitsWithinItsScope(t *testing.T) {
	w := newTestWorkspace(t)
	w.Product("atlas", jobs.ProductSettings{Repos: []string{"atlas-api"}, ReviewRequired: true})
	w.Product("vega", jobs.ProductSettings{Repos: []string{"vega-api"}})
	ada := w.submitter(tenancy.Scope{Products: []string{"atlas"}})
	w.Job("work", inProduct("atlas"))
	held := w.Claim(ada)
	found, err := w.submit(ada, ref(held), inProduct("atlas"), inRepo("atlas-api"))
	if err != nil {
		t.Fatal(err)
	}
	if found.Status != jobs.Ready || !found.ReviewRequired {
		t.Errorf("it is %s, reviewed %t", found.Status, found.ReviewRequired)
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_dependency WHERE job_id = $1 AND depends_on_id = $2 AND type = 'discovered_from'`,
		found.ID, held.ID); n != 1 {
		t.Error("it is not linked to the job at work")
	}
	no, other := false, ref(held)
	other.Epoch++
	silent := ada
	silent.MaySubmit = false
	for name, c := range map[string]struct {
		who    tenancy.Principal
		lease  lease.Ref
		change func(*jobs.New)
		code   fault.Code
	}{
		"another product":        {ada, ref(held), inProduct("vega"), fault.Forbidden},
		"the default product":    {ada, ref(held), func(*jobs.New) {}, fault.Forbidden},
		"a repo of nobody":       {ada, ref(held), func(n *jobs.New) { n.Product, n.Repo = "atlas", "attic" }, fault.Forbidden},
		"a repo of another":      {ada, ref(held), inRepo("vega-api"), fault.Forbidden},
		"another epoch":          {ada, other, inProduct("atlas"), fault.StaleEpoch},
		"a token without it":     {silent, ref(held), inProduct("atlas"), fault.Forbidden},
		"without its review":     {ada, ref(held), func(n *jobs.New) { n.Product, n.ReviewOverride = "atlas", &no }, fault.Validation},
		"no lease":               {ada, lease.Ref{}, inProduct("atlas"), fault.Validation},
		"a job of another agent": {ada, lease.Ref{Job: found.Key, Epoch: 1}, inProduct("atlas"), fault.StaleEpoch},
	} {
		if _, err := w.submit(c.who, c.lease, c.change); !fault.Is(err, c.code) {
			t.Errorf("%s: %v; want %s", name, err, c.code)
		}
	}
	w.Complete(ada, held)
	if _, err := w.submit(ada, ref(held), inProduct("atlas")); err == nil {
		t.Error("a job was created under a lease that has ended")
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job`); n != 2 {
		t.Errorf("there are %d jobs; want 2", n)
	}
	w.Consistent()
}

// At most twenty jobs come of one attempt, also at the same moment.
func TestAnAttemptSubmitsAtMostTwenty(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.submitter(tenancy.Scope{})
	w.Job("work", priority(10))
	held := w.Claim(ada)
	var made atomic.Int32
	var wg sync.WaitGroup
	for n := range jobs.MaxFiledPerAttempt + 5 {
		wg.Go(func() {
			_, err := w.submit(ada, ref(held), func(j *jobs.New) { j.Title = fmt.Sprint(n) })
			for fault.Is(err, fault.Unavailable) { // all wait for one lock, on a machine that is busy
				_, err = w.submit(ada, ref(held), func(j *jobs.New) { j.Title = fmt.Sprint(n) })
			}
			switch {
			case err == nil:
				made.Add(1)
			case !fault.Is(err, fault.Forbidden):
				t.Errorf("the %dth: %v", n, err)
			}
		})
	}
	wg.Wait()
	if made.Load() != jobs.MaxFiledPerAttempt {
		t.Errorf("%d jobs were created; want %d", made.Load(), jobs.MaxFiledPerAttempt)
	}
	w.Complete(ada, held)
	if _, err := w.submit(ada, ref(w.Claim(ada))); err != nil {
		t.Errorf("in the next attempt: %v", err)
	}
}
