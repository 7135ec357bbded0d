package dispatch_test

import (
	"fmt"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/waitlist"
)

// A paused product gives no jobs, whatever their priority; the others do.
func TestAPausedProductGivesNoJobs(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Product("atlas", jobs.ProductSettings{})
	stopped := w.Job("stopped", priority(10), inProduct("atlas"))
	other := w.Job("other", priority(1))
	w.Product("atlas", jobs.ProductSettings{Paused: true})
	if got := w.Claim(agent); got.Key != other.Key {
		t.Errorf("claimed %s; want %s", got.Key, other.Key)
	}
	w.Nothing(agent, claim.ReasonPaused)
	if _, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Job: stopped.Key}); !fault.Is(err, fault.NotClaimable) {
		t.Errorf("by name: %v; want not_claimable", err)
	}
	w.Want(stopped, jobs.Ready)
	w.Product("atlas", jobs.ProductSettings{})
	if got := w.Claim(agent); got.Key != stopped.Key {
		t.Errorf("claimed %s; want %s", got.Key, stopped.Key)
	}
	w.Nothing(agent, claim.ReasonEmpty)
	w.Consistent()
}

// As many jobs in review as a product allows stop its claims, until one of them
// leaves the queue. Rejected work is the next to be claimed.
func TestAFullReviewQueueStopsClaims(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Product("atlas", jobs.ProductSettings{ReviewRequired: true, ReviewLimit: number(2)})
	for i := range 4 {
		w.Job(fmt.Sprint(i), inProduct("atlas"))
	}
	first, second := w.Claim(agent), w.Claim(agent)
	w.Complete(agent, first)
	third := w.Claim(agent)
	w.Complete(agent, second)
	w.Nothing(agent, claim.ReasonReviewBacklog)
	named := dbfactory.Text(t, w.DB, `SELECT key FROM job WHERE status = 'ready'`)
	if _, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Job: named}); !fault.Is(err, fault.NotClaimable) {
		t.Errorf("by name: %v; want not_claimable", err)
	}
	w.Complete(agent, third) // what is worked on may be handed in, over the limit
	w.Act(first, jobs.ByApprove)
	w.Nothing(agent, claim.ReasonReviewBacklog)
	w.Act(second, jobs.ByReject)
	w.Want(second, jobs.Ready)
	w.Claim(agent)
	w.Consistent()
}

// A full review queue is the reason also where all that an agent could take waits for
// it, and is no reason for agents that could not take that.
func TestAClaimSaysThatTheReviewQueueHoldsItsJobs(t *testing.T) {
	w := newTestWorkspace(t)
	agent, codex := w.Agent("claude-1"), w.Agent("codex-1", func(r *fleet.Registration) { r.Capabilities = []string{"held"} })
	w.Product("atlas", jobs.ProductSettings{ReviewRequired: true, ReviewLimit: number(1)})
	w.Job("handed in", inProduct("atlas"))
	first := w.Claim(agent)
	w.Complete(agent, first)
	held := w.Want(w.Job("held", inProduct("atlas"), needs("held")), jobs.Waiting)
	if held.WaitReason != jobs.WaitReviewBacklog {
		t.Fatalf("it waits for %s", held.WaitReason)
	}
	w.Nothing(codex, claim.ReasonReviewBacklog)
	w.Nothing(agent, claim.ReasonEmpty)
	elsewhere := w.Job("elsewhere")
	if got := w.Claim(codex); got.Key != elsewhere.Key {
		t.Errorf("claimed %s; want %s", got.Key, elsewhere.Key)
	}
	w.Product("atlas", jobs.ProductSettings{ReviewRequired: true, ReviewLimit: number(1), Paused: true})
	w.Nothing(codex, claim.ReasonPaused)
	w.Product("atlas", jobs.ProductSettings{ReviewRequired: true, ReviewLimit: number(1)})
	w.Act(first, jobs.ByApprove)
	if got := w.Claim(codex); got.Key != held.Key {
		t.Errorf("claimed %s; want %s", got.Key, held.Key)
	}
	w.Nothing(codex, claim.ReasonEmpty)
	w.Consistent()
}

// A claim that waits for a closed product wakes when a review place is free, and
// when a pause ends, without the safety poll.
func TestClosedLanesWakeWaitingClaims(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Product("atlas", jobs.ProductSettings{ReviewRequired: true, ReviewLimit: number(1)})
	w.Job("one", inProduct("atlas"), priority(9))
	w.Job("two", inProduct("atlas"))
	w.Job("three", inProduct("atlas"))
	first := w.Claim(agent)
	w.Complete(agent, first)
	wakes := func(what string, open func()) jobs.Job {
		t.Helper()
		w.Nothing(agent, claim.ReasonReviewBacklog)
		version := w.Dispatch.QueueVersion(agent)
		got := make(chan claim.Result, 1)
		go func() {
			claimed, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Wait: waitlist.MaxWait})
			if err != nil {
				t.Errorf("claim: %v", err)
			}
			got <- claimed
		}()
		open()
		claimed := <-got
		if len(claimed.Jobs) != 1 {
			t.Fatalf("%s: %d jobs", what, len(claimed.Jobs))
		}
		if w.Dispatch.QueueVersion(agent) == version {
			t.Errorf("%s: the queue's version is as before", what)
		}
		return claimed.Jobs[0]
	}
	held := wakes("a free place", func() { w.Act(first, jobs.ByApprove) })
	w.Complete(agent, held)
	wakes("a higher limit", func() {
		w.Product("atlas", jobs.ProductSettings{ReviewRequired: true, ReviewLimit: number(5)})
	})
	w.Consistent()
}

// A token that is limited to products never gets another product's job.
func TestATokensProductsLimitItsClaims(t *testing.T) {
	w := newTestWorkspace(t)
	w.Product("atlas", jobs.ProductSettings{})
	w.Product("vega", jobs.ProductSettings{})
	enrolment := dbfactory.Enrolment(w.Workspace)
	enrolment.Scope = tenancy.Scope{Products: []string{"atlas", "gone"}}
	_, err := w.Dispatch.Register(w.Ctx, enrolment, fleet.Registration{Agent: "claude-1", BootID: "boot-1",
		Factory: fleet.FactoryInfo{Name: "mac-1", Seats: 10}, MaxConcurrentJobs: 10})
	if err != nil {
		t.Fatal(err)
	}
	agent := w.Tokens.Issued[len(w.Tokens.Issued)-1]
	foreign := w.Job("foreign", priority(10), inProduct("vega"))
	own := w.Job("own", inProduct("atlas"))
	if got := w.Claim(agent); got.Key != own.Key {
		t.Errorf("claimed %s; want %s", got.Key, own.Key)
	}
	w.Nothing(agent, claim.ReasonEmpty)
	if _, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Job: foreign.Key}); !fault.Is(err, fault.NotClaimable) {
		t.Errorf("by name: %v; want not_claimable", err)
	}
	w.Want(foreign, jobs.Ready)
}
