package claim_test

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/transporttest"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/waitlist"
)

// silent makes jobs as another process does whose wake-ups are all lost.
func (w *testWorkspace) silent() *jobs.Service {
	return jobs.NewService(w.DB, transporttest.Notifier(w.T, w.DB), dbtest.Vault(w.DB), nil)
}

// awaits lets an agent wait for a job.
func (w *testWorkspace) awaits(agent tenancy.Principal) <-chan claim.Result {
	got := make(chan claim.Result, 1)
	go func() {
		claimed, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Wait: waitlist.MaxWait})
		if err != nil {
			w.T.Errorf("claim: %v", err)
		}
		got <- claimed
	}()
	w.Waits()
	return got
}

// A wake-up that was lost costs two looks of the watch, not the rest of the wait.
func TestALostWakeUpIsMadeGood(t *testing.T) {
	w := newTestWorkspace(t)
	w.Dispatch.WatchEvery(20 * time.Millisecond)
	agent := w.Agent("a", func(r *fleet.Registration) { r.Factory.Capabilities = []string{"gpu"} })
	w.Job("now the lane is known")
	w.Complete(agent, w.Claim(agent))
	for _, lost := range []jobs.New{{Spec: jobs.Spec{Title: "of a known lane"}}, {Spec: jobs.Spec{Title: "of a new lane",
		Capabilities: []string{"gpu"}}}} {
		got := w.awaits(agent)
		if _, err := w.silent().Create(w.Ctx, w.Owner, nil, lost); err != nil {
			t.Fatal(err)
		}
		claimed := <-got
		if len(claimed.Jobs) != 1 || claimed.Jobs[0].Title != lost.Title {
			t.Fatalf("%s: %d jobs", lost.Title, len(claimed.Jobs))
		}
		w.Complete(agent, claimed.Jobs[0])
	}
}
