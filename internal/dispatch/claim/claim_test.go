package claim_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/waitlist"
)

func TestClaimTakesTheMostUrgentJobOfAllLanes(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	low := w.Job("low", priority(2))
	high := w.Job("high", priority(9), needs("os:linux"))
	middle := w.Job("middle", priority(5), needs("engine:claude"))
	w.Job("elsewhere", priority(10), needs("engine:codex"))
	for _, want := range []jobs.Job{high, middle, low} {
		if got := w.Claim(agent); got.Key != want.Key {
			t.Errorf("claimed %s; want %s (%s)", got.Key, want.Key, want.Title)
		}
	}
	w.Nothing(agent, claim.ReasonEmpty)
	w.Consistent()
}

func TestClaimOfABatchIsInOrderAcrossLanes(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	lanes := [][]string{nil, {"os:linux"}, {"engine:claude"}}
	for i := range 12 {
		w.Job(fmt.Sprint(i), priority(i%10), needs(lanes[i%3]...))
	}
	got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Max: 8})
	if err != nil || len(got.Jobs) != 8 {
		t.Fatalf("claimed %d, %v; want 8", len(got.Jobs), err)
	}
	for i := 1; i < len(got.Jobs); i++ {
		if got.Jobs[i].Priority > got.Jobs[i-1].Priority {
			t.Errorf("job %d has priority %d after %d", i, got.Jobs[i].Priority, got.Jobs[i-1].Priority)
		}
	}
	// Priorities 9, 8, 7, 6, 5, 4, 3, 2 were the eight most urgent.
	if last := got.Jobs[7].Priority; last != 2 {
		t.Errorf("the last one has priority %d; want 2", last)
	}
	w.Consistent()
}

func TestClaimGivesEpochLeaseAndAttempt(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	made := w.Job("one", func(n *jobs.New) { n.Body = "Do it."; n.InputContext = []byte(`{"n": 12345678901234567890}`) })
	got := w.Claim(agent)
	if got.Epoch != 1 || got.Attempts != 1 || got.Lease == nil || got.Lease.Agent != "claude-1" || got.Lease.TTLSeconds != 900 {
		t.Fatalf("claimed %+v, lease %+v", got, got.Lease)
	}
	if got.Body != "Do it." || string(got.InputContext) != `{"n": 12345678901234567890}` {
		t.Errorf("body %q, input %s", got.Body, got.InputContext)
	}
	attempts, err := attempts.NewService(w.DB).Attempts(w.Ctx, w.Owner, made.Key)
	if err != nil || len(attempts) != 1 || attempts[0].Epoch != 1 || attempts[0].Agent != "claude-1" || attempts[0].Outcome != "" {
		t.Errorf("attempts %+v, %v", attempts, err)
	}
}

func TestClaimOfANamedJob(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("urgent", priority(10))
	wanted := w.Job("wanted", priority(1))
	foreign := w.Job("foreign", needs("engine:codex"))
	got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Job: wanted.Key})
	if err != nil || len(got.Jobs) != 1 || got.Jobs[0].Key != wanted.Key {
		t.Fatalf("claimed %v, %v; want %s", got.Jobs, err, wanted.Key)
	}
	for name, key := range map[string]string{"taken": wanted.Key, "not its own": foreign.Key} {
		if _, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Job: key}); !fault.Is(err, fault.NotClaimable) {
			t.Errorf("%s: %v; want not_claimable", name, err)
		}
	}
	if _, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Job: "FB-404"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("unknown: %v; want not_found", err)
	}
	w.Consistent()
}

func TestClaimRespectsSeatsAndDrain(t *testing.T) {
	w := newTestWorkspace(t)
	one := w.Agent("claude-1", func(r *fleet.Registration) { r.Factory.Name, r.Factory.Seats, r.MaxConcurrentJobs = "mac-1", 2, 1 })
	two := w.Agent("claude-2", func(r *fleet.Registration) { r.Factory.Name, r.Factory.Seats = "mac-1", 2 })
	for range 4 {
		w.Job("job")
	}
	first := w.Claim(one)
	w.Nothing(one, claim.ReasonNoSeats) // its own limit
	w.Claim(two)
	w.Nothing(two, claim.ReasonNoSeats) // the factory's
	if _, err := w.Fleet.SetDraining(w.Ctx, w.Owner, "mac-1", true); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Dispatch.Complete(w.Ctx, one, ref(first), report.Completion{}); err != nil {
		t.Fatalf("a draining factory's job may end: %v", err)
	}
	w.Nothing(one, claim.ReasonDraining)
	if _, err := w.Fleet.SetDraining(w.Ctx, w.Owner, "mac-1", false); err != nil {
		t.Fatal(err)
	}
	w.Claim(one)
	w.Consistent()
}

func TestClaimWithTheSameRequestGivesTheSameLeases(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	w.Job("two")
	in := claim.Request{RequestID: "r-1"}
	first, err := w.Dispatch.Claim(w.Ctx, agent, in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.Dispatch.Claim(w.Ctx, agent, in)
	if err != nil || len(again.Jobs) != 1 || again.Jobs[0].Key != first.Jobs[0].Key || again.Jobs[0].Epoch != 1 {
		t.Errorf("again %+v, %v; want %s", again.Jobs, err, first.Jobs[0].Key)
	}
}

func TestAnEmptyClaimWritesNothing(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1", func(r *fleet.Registration) { r.MaxConcurrentJobs = 1 })
	w.Job("elsewhere", needs("engine:codex"))
	w.Job("taken")
	// Every version and every lock of a row, whoever left it there.
	const marks = `SELECT string_agg(m, ' ' ORDER BY m) FROM (
		SELECT ctid || '/' || xmin || '/' || xmax FROM factory UNION ALL
		SELECT ctid || '/' || xmin || '/' || xmax FROM agent UNION ALL
		SELECT ctid || '/' || xmin || '/' || xmax FROM job UNION ALL
		SELECT ctid || '/' || xmin || '/' || xmax FROM job_ready UNION ALL
		SELECT ctid || '/' || xmin || '/' || xmax FROM event) x(m)`
	unchanged := func(reason string) {
		t.Helper()
		before := dbfactory.Text(t, w.DB, marks)
		w.Nothing(agent, reason)
		if after := dbfactory.Text(t, w.DB, marks); after != before {
			t.Errorf("a claim that gave nothing for %q left a mark:\n%s\n%s", reason, before, after)
		}
	}
	held := w.Claim(agent)
	unchanged(claim.ReasonEmpty)
	w.Job("one too many")
	unchanged(claim.ReasonNoSeats)
	w.Complete(agent, held)
	w.Complete(agent, w.Claim(agent))
	unchanged(claim.ReasonEmpty)
}

func TestALongPollWakesOnAnotherProcess(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	other := inWorkspace(t, w.DB, w.Workspace)
	got := make(chan jobs.Job, 1)
	go func() {
		claimed, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Wait: waitlist.MaxWait})
		if err != nil || len(claimed.Jobs) != 1 {
			t.Errorf("claim: %v, %v", claimed, err)
			close(got)
			return
		}
		got <- claimed.Jobs[0]
	}()
	made := other.Job("submitted elsewhere")
	if j := <-got; j.Key != made.Key {
		t.Errorf("claimed %s; want %s", j.Key, made.Key)
	}
}

func TestALongPollEndsWithTheRequest(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	start := time.Now()
	got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Wait: 300 * time.Millisecond})
	if err != nil || got.Reason != claim.ReasonEmpty || got.QueueVersion == "" {
		t.Errorf("claim = %+v, %v", got, err)
	}
	if held := time.Since(start); held < 300*time.Millisecond {
		t.Errorf("held for %s; want 300ms", held)
	}
}

func TestALongPollForASeatWakesWhenOneComesFree(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1", func(r *fleet.Registration) { r.MaxConcurrentJobs = 1 })
	w.Dispatch.TrustWakeUps()
	w.Job("one")
	second := w.Job("two")
	held := w.Claim(agent)
	got := make(chan []jobs.Job, 1)
	go func() {
		claimed, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Wait: waitlist.MaxWait})
		if err != nil {
			t.Errorf("claim: %v", err)
		}
		got <- claimed.Jobs
	}()
	if _, err := w.Dispatch.Complete(w.Ctx, agent, ref(held), report.Completion{}); err != nil {
		t.Fatal(err)
	}
	if list := <-got; len(list) != 1 || list[0].Key != second.Key {
		t.Errorf("claimed %v; want %s", list, second.Key)
	}
}

func TestALongPollOfADrainedFactoryWakesWhenItIsGivenJobsAgain(t *testing.T) {
	w := newTestWorkspace(t)
	w.Dispatch.TrustWakeUps()
	agent := w.Agent("claude-1")
	hosts := fleet.NewService(w.DB, w.Wake)
	if _, err := hosts.SetDraining(w.Ctx, w.Owner, agent.Factory, true); err != nil {
		t.Fatal(err)
	}
	job := w.Job("one")
	got := make(chan []jobs.Job, 1)
	go func() {
		claimed, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Wait: waitlist.MaxWait})
		if err != nil {
			t.Errorf("claim: %v", err)
		}
		got <- claimed.Jobs
	}()
	if _, err := hosts.SetDraining(w.Ctx, w.Owner, agent.Factory, false); err != nil {
		t.Fatal(err)
	}
	if list := <-got; len(list) != 1 || list[0].Key != job.Key {
		t.Errorf("claimed %v; want %s", list, job.Key)
	}
}

func TestTheQueueVersionChangesOnlyWithItsLanes(t *testing.T) {
	w := newTestWorkspace(t)
	<-w.Listening // which changes all versions
	agent := w.Agent("claude-1")
	w.Job("elsewhere", needs("engine:codex"))
	w.Job("here")
	w.Claim(agent)
	got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if v := w.Dispatch.QueueVersion(agent); v != got.QueueVersion {
		t.Errorf("version %s; the claim said %s", v, got.QueueVersion)
	}
	w.Job("elsewhere again", needs("engine:codex"))
	if v := w.Dispatch.QueueVersion(agent); v != got.QueueVersion {
		t.Errorf("version %s after a job of another lane; want %s", v, got.QueueVersion)
	}
	w.Job("here again")
	if v := w.Dispatch.QueueVersion(agent); v == got.QueueVersion {
		t.Errorf("version %s after a job of its lane; want another", v)
	}
}

func TestManyClaimersGetEachJobOnce(t *testing.T) {
	w := newTestWorkspace(t)
	const total, claimers = 300, 12
	batch := make([]jobs.New, total)
	for i := range batch {
		batch[i] = jobs.New{Spec: jobs.Spec{Title: fmt.Sprint("job ", i)}}
	}
	if _, err := w.Jobs.Create(w.Ctx, w.Owner, nil, batch...); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]int{}
	var all sync.WaitGroup
	for i := range claimers {
		agent := w.Agent(fmt.Sprint("claude-", i))
		all.Go(func() {
			for {
				got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Max: 1 + i%3})
				if err != nil {
					t.Errorf("claim: %v", err)
					return
				}
				if len(got.Jobs) == 0 {
					return
				}
				mu.Lock()
				for _, j := range got.Jobs {
					seen[j.Key]++
					if j.Epoch != 1 {
						t.Errorf("%s has epoch %d", j.Key, j.Epoch)
					}
				}
				mu.Unlock()
				for _, j := range got.Jobs {
					if _, err := w.Dispatch.Complete(w.Ctx, agent, ref(j), report.Completion{}); err != nil {
						t.Errorf("complete: %v", err)
					}
				}
			}
		})
	}
	all.Wait()
	if len(seen) != total {
		t.Errorf("%d jobs were claimed; want %d", len(seen), total)
	}
	for key, n := range seen {
		if n != 1 {
			t.Errorf("%s was claimed %d times", key, n)
		}
	}
	w.Consistent()
}

// One agent cannot have any number of claims waiting; those that wait for nothing are
// answered all the same.
func TestAnAgentHasOnlySoManyClaimsWaiting(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	ctx, cancel := context.WithCancel(w.Ctx)
	defer cancel()
	answers := make(chan error, waitlist.MaxAgentClaims+1)
	for range waitlist.MaxAgentClaims + 1 {
		go func() {
			_, err := w.Dispatch.Claim(ctx, agent, claim.Request{Wait: 50 * time.Second})
			answers <- err
		}()
	}
	select {
	case err := <-answers:
		if !fault.Is(err, fault.TooMany) {
			t.Errorf("one too many: %v", err)
		}
	case <-time.After(40 * time.Second):
		t.Fatal("all of them wait")
	}
	if claimed, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{}); err != nil || claimed.Reason != claim.ReasonEmpty {
		t.Errorf("%+v, %v", claimed, err)
	}
	if _, err := w.Dispatch.Claim(w.Ctx, w.Agent("claude-2"), claim.Request{Wait: time.Millisecond}); err != nil {
		t.Errorf("another agent: %v", err)
	}
	cancel()
	for range waitlist.MaxAgentClaims {
		<-answers
	}
}
