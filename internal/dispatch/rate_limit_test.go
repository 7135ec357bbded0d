package dispatch_test

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func of(model string) func(*fleet.Registration) {
	return func(r *fleet.Registration) { r.Model = model }
}

func limited(after time.Duration) report.Failure {
	return report.Failure{Error: "429", Kind: "rate_limited", RetryAfter: after}
}

// rateLimited makes an agent find out that its provider takes no requests for an hour.
func (w *testWorkspace) rateLimited(agent tenancy.Principal, f report.Failure) jobs.Job {
	w.T.Helper()
	failed, err := w.Dispatch.Fail(w.Ctx, agent, ref(w.Claim(agent)), f)
	if err != nil {
		w.T.Fatal(err)
	}
	return failed.Job
}

// A rate limit is nobody's failure: the job waits as long, however often that happens,
// and neither counter rises.
func TestARateLimitCountsAsNothing(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one", retries(0, 0))
	for range 3 {
		failed := w.rateLimited(agent, limited(0))
		if failed.Status != jobs.Waiting || failed.WaitReason != jobs.WaitRetryBackoff || failed.FailureCount+failed.LostCount != 0 ||
			failed.FailureKind != jobs.FailedRateLimit {
			t.Fatalf("it is %s (%s), %d failures, %d losses", failed.Status, failed.WaitReason, failed.FailureCount, failed.LostCount)
		}
		w.backoffOver()
	}
	w.Consistent()
}

// What is a host's fault costs the job nothing, however many hosts give it back, and each
// time the job waits longer; what the model does is a failure as any other.
func TestWhatIsTheHostsCostsTheJobNothing(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	fail := func(kind jobs.FailureKind, retryable bool) jobs.Job {
		t.Helper()
		w.backoffOver()
		failed, err := w.Dispatch.Fail(w.Ctx, agent, ref(w.Claim(agent)), report.Failure{Error: "no", Kind: string(kind), Retryable: retryable})
		if err != nil {
			t.Fatal(err)
		}
		return failed.Job
	}
	w.Job("one", retries(1, 60))
	var longest time.Duration
	for i, kind := range []jobs.FailureKind{jobs.FailedAuth, jobs.FailedBilling, jobs.FailedEngine, jobs.FailedClone, jobs.FailedAuth} {
		got := fail(kind, false)
		wait := got.NotBefore.Sub(got.StatusAt)
		if got.Status != jobs.Waiting || got.WaitReason != jobs.WaitRetryBackoff || got.FailureCount+got.LostCount != 0 || got.FailureKind != kind {
			t.Fatalf("%s: it is %s (%s), %d failures, %d losses", kind, got.Status, got.WaitReason, got.FailureCount, got.LostCount)
		}
		if want := 5 * time.Second << i; wait < want*3/4 || wait > want*5/4 {
			t.Errorf("%s: it waits for %s; want about %s", kind, wait, want)
		}
		longest = max(longest, wait)
	}
	if got := fail(jobs.FailedGarbage, true); got.FailureCount != 1 || got.FailureKind != jobs.FailedGarbage {
		t.Errorf("of an engine's garbage it has %d failures of the kind %s", got.FailureCount, got.FailureKind)
	}
	if got := fail(jobs.FailedAuth, false); got.NotBefore.Sub(got.StatusAt) > longest/2 {
		t.Error("what hosts gave back before another end of an attempt counts for the wait")
	}
	w.backoffOver()
	for range 20 {
		fail(jobs.FailedClone, false)
	}
	if got := fail(jobs.FailedBilling, false); got.NotBefore.Sub(got.StatusAt) > 13*time.Minute {
		t.Errorf("it waits for %s", got.NotBefore.Sub(got.StatusAt))
	}
	if got := fail(jobs.FailedRefused, false); got.Status != jobs.Failed {
		t.Errorf("refused by the model it is %s", got.Status)
	}
	w.Consistent()
}

// The agents of a provider that takes no requests get no jobs, also those that register
// later; the others do. Afterwards all do.
func TestARateLimitHoldsTheProvider(t *testing.T) {
	w := newTestWorkspace(t)
	hit, same, other := w.Agent("claude-1", of("claude-opus-4-8")), w.Agent("claude-2", of("claude-haiku-4-5")), w.Agent("codex-1", of("gpt-5"))
	w.Job("one")
	failed := w.rateLimited(hit, limited(time.Hour))
	if wait := failed.NotBefore.Sub(failed.StatusAt); wait < 59*time.Minute || wait > 61*time.Minute {
		t.Errorf("the job waits for %s; want an hour", wait)
	}
	next := w.Job("two")
	w.Nothing(hit, claim.ReasonRateLimited)
	w.Nothing(same, claim.ReasonRateLimited)
	w.Nothing(w.Agent("claude-3", of("anthropic/claude")), claim.ReasonRateLimited)
	agents, err := w.Fleet.Snapshot(w.Ctx, w.Owner)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range agents.Factories {
		for _, a := range f.Agents {
			if held := a.HeldUntil != nil; held != (a.Provider == "anthropic") || held && a.Idle() {
				t.Errorf("%s of %q: held %v, idle %v", a.Name, a.Provider, a.HeldUntil, a.Idle())
			}
		}
	}
	if got := w.Claim(other); got.Key != next.Key {
		t.Errorf("another provider's agent got %s; want %s", got.Key, next.Key)
	}
	w.rateLimitOver()
	third := w.Job("three")
	if got := w.Claim(same); got.Key != third.Key {
		t.Errorf("afterwards it got %s; want %s", got.Key, third.Key)
	}
	w.Consistent()
}

// One token's agents cannot stop those of another.
func TestARateLimitIsOfOneToken(t *testing.T) {
	w := newTestWorkspace(t)
	hit := w.registered(w.enrolment(tenancy.Scope{}), of("claude-opus-4-8"))
	w.Job("one")
	w.rateLimited(hit, limited(time.Hour))
	other := w.registered(w.enrolment(tenancy.Scope{}), of("claude-opus-4-8"), func(r *fleet.Registration) { r.Agent, r.Factory.Name = "claude-2", "elsewhere" })
	two := w.Job("two")
	if got := w.Claim(other); got.Key != two.Key {
		t.Errorf("it got %s; want %s", got.Key, two.Key)
	}
	w.Job("three")
	w.Nothing(hit, claim.ReasonRateLimited)
}

// A claim that waits while its provider is held is answered when that is over.
func TestAClaimWaitsForItsProvider(t *testing.T) {
	w := newTestWorkspace(t)
	hit := w.Agent("claude-1", of("claude-opus-4-8"))
	w.Job("one")
	w.rateLimited(hit, limited(time.Second))
	two := w.Job("two")
	got, err := w.Dispatch.Claim(w.Ctx, hit, claim.Request{Wait: 30 * time.Second})
	if err != nil || len(got.Jobs) != 1 || got.Jobs[0].Key != two.Key {
		t.Errorf("the claim got %v for %s, %v", got.Jobs, got.Reason, err)
	}
}

// Whose limit it is follows from what the agent says, or from what it has used; where
// nobody knows, only the job waits. A shorter limit ends no longer one.
func TestWhoseRateLimitItIs(t *testing.T) {
	w := newTestWorkspace(t)
	mystery := w.Agent("mystery-1", of("house-model"))
	w.Job("one")
	w.rateLimited(mystery, limited(time.Hour))
	w.Job("two")
	held := w.Claim(mystery)
	if _, err := w.Dispatch.RecordUsage(w.Ctx, mystery, []report.UsageLine{{Lease: lease.Ref{Job: held.Key, Epoch: held.Epoch},
		Entry: spend.Entry{ID: "m-1", Provider: "house", Model: "house-model", Input: 1, At: time.Now()}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Dispatch.Fail(w.Ctx, mystery, ref(held), limited(time.Hour)); err != nil {
		t.Fatal(err)
	}
	w.Job("three")
	w.Nothing(mystery, claim.ReasonRateLimited)
	said := w.Agent("said-1", of("claude-opus-4-8"))
	f := limited(time.Second)
	f.Provider = "house"
	w.rateLimited(said, f)
	w.Job("four")
	w.Nothing(said, claim.ReasonRateLimited)
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM provider_hold WHERE provider = 'house' AND until > now() + interval '50 minutes'`); n != 1 {
		t.Error("a second's limit has ended that of an hour")
	}
}

// rateLimitOver lets the time pass that providers take no requests.
func (w *testWorkspace) rateLimitOver() {
	w.T.Helper()
	dbfactory.Exec(w.T, w.DB, `UPDATE provider_hold SET until = now()`)
}
