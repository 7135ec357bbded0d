package dispatch_test

import (
	"log/slog"
	"testing"
	"time"

	"fleetboard/db/dbtest"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/dispatch/waitlist"
	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
	"fleetboard/internal/notifier"
	"fleetboard/internal/tenancy"
)

// silent makes jobs as another process does whose wake-ups are all lost.
func (w *world) silent() *jobs.Service {
	return jobs.NewService(w.db, notifier.New(w.db, slog.New(slog.DiscardHandler)), dbtest.Vault(w.db))
}

// awaits lets an agent wait for a job.
func (w *world) awaits(agent tenancy.Principal) <-chan dispatch.Claimed {
	got := make(chan dispatch.Claimed, 1)
	go func() {
		claimed, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{Wait: waitlist.MaxWait})
		if err != nil {
			w.t.Errorf("claim: %v", err)
		}
		got <- claimed
	}()
	w.waits()
	return got
}

// A wake-up that was lost costs two looks of the watch, not the rest of the wait.
func TestALostWakeUpIsMadeGood(t *testing.T) {
	w := newWorld(t)
	w.dispatch.WatchEvery(20 * time.Millisecond)
	agent := w.agent("a", func(r *fleet.Registration) { r.Factory.Capabilities = []string{"gpu"} })
	w.job("now the lane is known")
	w.complete(agent, w.claim(agent))
	for _, lost := range []jobs.New{{Title: "of a known lane"}, {Title: "of a new lane", Capabilities: []string{"gpu"}}} {
		got := w.awaits(agent)
		if _, err := w.silent().Create(w.ctx, w.owner, jobs.Origin{}, lost); err != nil {
			t.Fatal(err)
		}
		claimed := <-got
		if len(claimed.Jobs) != 1 || claimed.Jobs[0].Title != lost.Title {
			t.Fatalf("%s: %d jobs", lost.Title, len(claimed.Jobs))
		}
		w.complete(agent, claimed.Jobs[0])
	}
}
