package dispatch_test

import (
	"fmt"
	"testing"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/dispatch/waitlist"
	"fleetboard/internal/fault"
	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// A paused product gives no jobs, whatever their priority; the others do.
func TestAPausedProductGivesNoJobs(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	w.product("atlas", jobs.ProductSettings{})
	stopped := w.job("stopped", priority(10), inProduct("atlas"))
	other := w.job("other", priority(1))
	w.product("atlas", jobs.ProductSettings{Paused: true})
	if got := w.claim(agent); got.Key != other.Key {
		t.Errorf("claimed %s; want %s", got.Key, other.Key)
	}
	w.nothing(agent, dispatch.ReasonPaused)
	if _, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{Job: stopped.Key}); !fault.Is(err, fault.NotClaimable) {
		t.Errorf("by name: %v; want not_claimable", err)
	}
	w.want(stopped, jobs.Ready)
	w.product("atlas", jobs.ProductSettings{})
	if got := w.claim(agent); got.Key != stopped.Key {
		t.Errorf("claimed %s; want %s", got.Key, stopped.Key)
	}
	w.nothing(agent, dispatch.ReasonEmpty)
	w.consistent()
}

// As many jobs in review as a product allows stop its claims, until one of them
// leaves the queue. Rejected work is the next to be claimed.
func TestAFullReviewQueueStopsClaims(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	w.product("atlas", jobs.ProductSettings{ReviewRequired: true, ReviewLimit: number(2)})
	for i := range 4 {
		w.job(fmt.Sprint(i), inProduct("atlas"))
	}
	first, second := w.claim(agent), w.claim(agent)
	w.complete(agent, first)
	third := w.claim(agent)
	w.complete(agent, second)
	w.nothing(agent, dispatch.ReasonReviewBacklog)
	named := dbfactory.Text(t, w.db, `SELECT key FROM job WHERE status = 'ready'`)
	if _, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{Job: named}); !fault.Is(err, fault.NotClaimable) {
		t.Errorf("by name: %v; want not_claimable", err)
	}
	w.complete(agent, third) // what is worked on may be handed in, over the limit
	w.act(first, jobs.ByApprove)
	w.nothing(agent, dispatch.ReasonReviewBacklog)
	w.act(second, jobs.ByReject)
	w.want(second, jobs.Ready)
	w.claim(agent)
	w.consistent()
}

// A full review queue is the reason also where all that an agent could take waits for
// it, and is no reason for agents that could not take that.
func TestAClaimSaysThatTheReviewQueueHoldsItsJobs(t *testing.T) {
	w := newWorld(t)
	agent, codex := w.agent("claude-1"), w.agent("codex-1", func(r *fleet.Registration) { r.Capabilities = []string{"held"} })
	w.product("atlas", jobs.ProductSettings{ReviewRequired: true, ReviewLimit: number(1)})
	w.job("handed in", inProduct("atlas"))
	first := w.claim(agent)
	w.complete(agent, first)
	held := w.want(w.job("held", inProduct("atlas"), needs("held")), jobs.Waiting)
	if held.WaitReason != jobs.WaitReviewBacklog {
		t.Fatalf("it waits for %s", held.WaitReason)
	}
	w.nothing(codex, dispatch.ReasonReviewBacklog)
	w.nothing(agent, dispatch.ReasonEmpty)
	elsewhere := w.job("elsewhere")
	if got := w.claim(codex); got.Key != elsewhere.Key {
		t.Errorf("claimed %s; want %s", got.Key, elsewhere.Key)
	}
	w.product("atlas", jobs.ProductSettings{ReviewRequired: true, ReviewLimit: number(1), Paused: true})
	w.nothing(codex, dispatch.ReasonPaused)
	w.product("atlas", jobs.ProductSettings{ReviewRequired: true, ReviewLimit: number(1)})
	w.act(first, jobs.ByApprove)
	if got := w.claim(codex); got.Key != held.Key {
		t.Errorf("claimed %s; want %s", got.Key, held.Key)
	}
	w.nothing(codex, dispatch.ReasonEmpty)
	w.consistent()
}

// A claim that waits for a closed product wakes when a review place is free, and
// when a pause ends, without the safety poll.
func TestClosedLanesWakeWaitingClaims(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	w.product("atlas", jobs.ProductSettings{ReviewRequired: true, ReviewLimit: number(1)})
	w.job("one", inProduct("atlas"), priority(9))
	w.job("two", inProduct("atlas"))
	w.job("three", inProduct("atlas"))
	first := w.claim(agent)
	w.complete(agent, first)
	wakes := func(what string, open func()) jobs.Job {
		t.Helper()
		w.nothing(agent, dispatch.ReasonReviewBacklog)
		version := w.dispatch.QueueVersion(agent)
		got := make(chan dispatch.Claimed, 1)
		go func() {
			claimed, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{Wait: waitlist.MaxWait})
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
		if w.dispatch.QueueVersion(agent) == version {
			t.Errorf("%s: the queue's version is as before", what)
		}
		return claimed.Jobs[0]
	}
	held := wakes("a free place", func() { w.act(first, jobs.ByApprove) })
	w.complete(agent, held)
	wakes("a higher limit", func() {
		w.product("atlas", jobs.ProductSettings{ReviewRequired: true, ReviewLimit: number(5)})
	})
	w.consistent()
}

// A token that is limited to products never gets another product's job.
func TestATokensProductsLimitItsClaims(t *testing.T) {
	w := newWorld(t)
	w.product("atlas", jobs.ProductSettings{})
	w.product("vega", jobs.ProductSettings{})
	enrolment := dbfactory.Enrolment(w.workspace)
	enrolment.Scope = tenancy.Scope{Products: []string{"atlas", "gone"}}
	_, err := w.dispatch.Register(w.ctx, enrolment, fleet.Registration{Agent: "claude-1", BootID: "boot-1",
		Factory: fleet.FactoryInfo{Name: "mac-1", Seats: 10}, MaxConcurrentJobs: 10})
	if err != nil {
		t.Fatal(err)
	}
	agent := w.tokens.issued[len(w.tokens.issued)-1]
	foreign := w.job("foreign", priority(10), inProduct("vega"))
	own := w.job("own", inProduct("atlas"))
	if got := w.claim(agent); got.Key != own.Key {
		t.Errorf("claimed %s; want %s", got.Key, own.Key)
	}
	w.nothing(agent, dispatch.ReasonEmpty)
	if _, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{Job: foreign.Key}); !fault.Is(err, fault.NotClaimable) {
		t.Errorf("by name: %v; want not_claimable", err)
	}
	w.want(foreign, jobs.Ready)
}
