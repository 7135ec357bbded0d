package dispatch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/dispatch/waitlist"
	"fleetboard/internal/fault"
	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
	"fleetboard/internal/jobs/attempts"
)

func TestClaimTakesTheMostUrgentJobOfAllLanes(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	low := w.job("low", priority(2))
	high := w.job("high", priority(9), needs("os:linux"))
	middle := w.job("middle", priority(5), needs("engine:claude"))
	w.job("elsewhere", priority(10), needs("engine:codex"))
	for _, want := range []jobs.Job{high, middle, low} {
		if got := w.claim(agent); got.Key != want.Key {
			t.Errorf("claimed %s; want %s (%s)", got.Key, want.Key, want.Title)
		}
	}
	w.nothing(agent, dispatch.ReasonEmpty)
	w.consistent()
}

func TestClaimOfABatchIsInOrderAcrossLanes(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	lanes := [][]string{nil, {"os:linux"}, {"engine:claude"}}
	for i := range 12 {
		w.job(fmt.Sprint(i), priority(i%10), needs(lanes[i%3]...))
	}
	got, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{Max: 8})
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
	w.consistent()
}

func TestClaimGivesEpochLeaseAndAttempt(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	made := w.job("one", func(n *jobs.New) { n.Body = "Do it."; n.InputContext = []byte(`{"n": 12345678901234567890}`) })
	got := w.claim(agent)
	if got.Epoch != 1 || got.Attempts != 1 || got.Lease == nil || got.Lease.Agent != "claude-1" || got.Lease.TTLSeconds != 900 {
		t.Fatalf("claimed %+v, lease %+v", got, got.Lease)
	}
	if got.Body != "Do it." || string(got.InputContext) != `{"n": 12345678901234567890}` {
		t.Errorf("body %q, input %s", got.Body, got.InputContext)
	}
	attempts, err := attempts.NewService(w.db).Attempts(w.ctx, w.owner, made.Key)
	if err != nil || len(attempts) != 1 || attempts[0].Epoch != 1 || attempts[0].Agent != "claude-1" || attempts[0].Outcome != "" {
		t.Errorf("attempts %+v, %v", attempts, err)
	}
}

func TestClaimOfANamedJob(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	w.job("urgent", priority(10))
	wanted := w.job("wanted", priority(1))
	foreign := w.job("foreign", needs("engine:codex"))
	got, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{Job: wanted.Key})
	if err != nil || len(got.Jobs) != 1 || got.Jobs[0].Key != wanted.Key {
		t.Fatalf("claimed %v, %v; want %s", got.Jobs, err, wanted.Key)
	}
	for name, key := range map[string]string{"taken": wanted.Key, "not its own": foreign.Key} {
		if _, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{Job: key}); !fault.Is(err, fault.NotClaimable) {
			t.Errorf("%s: %v; want not_claimable", name, err)
		}
	}
	if _, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{Job: "FB-404"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("unknown: %v; want not_found", err)
	}
	w.consistent()
}

func TestClaimRespectsSeatsAndDrain(t *testing.T) {
	w := newWorld(t)
	one := w.agent("claude-1", func(r *fleet.Registration) { r.Factory.Name, r.Factory.Seats, r.MaxConcurrentJobs = "mac-1", 2, 1 })
	two := w.agent("claude-2", func(r *fleet.Registration) { r.Factory.Name, r.Factory.Seats = "mac-1", 2 })
	for range 4 {
		w.job("job")
	}
	first := w.claim(one)
	w.nothing(one, dispatch.ReasonNoSeats) // its own limit
	w.claim(two)
	w.nothing(two, dispatch.ReasonNoSeats) // the factory's
	if _, err := w.fleet.SetDraining(w.ctx, w.owner, "mac-1", true); err != nil {
		t.Fatal(err)
	}
	if _, err := w.dispatch.Complete(w.ctx, one, ref(first), dispatch.Completion{}); err != nil {
		t.Fatalf("a draining factory's job may end: %v", err)
	}
	w.nothing(one, dispatch.ReasonDraining)
	if _, err := w.fleet.SetDraining(w.ctx, w.owner, "mac-1", false); err != nil {
		t.Fatal(err)
	}
	w.claim(one)
	w.consistent()
}

func TestClaimWithTheSameRequestGivesTheSameLeases(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	w.job("one")
	w.job("two")
	in := dispatch.ClaimRequest{RequestID: "r-1"}
	first, err := w.dispatch.Claim(w.ctx, agent, in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.dispatch.Claim(w.ctx, agent, in)
	if err != nil || len(again.Jobs) != 1 || again.Jobs[0].Key != first.Jobs[0].Key || again.Jobs[0].Epoch != 1 {
		t.Errorf("again %+v, %v; want %s", again.Jobs, err, first.Jobs[0].Key)
	}
}

func TestAnEmptyClaimWritesNothing(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1", func(r *fleet.Registration) { r.MaxConcurrentJobs = 1 })
	w.job("elsewhere", needs("engine:codex"))
	w.job("taken")
	// Every version and every lock of a row, whoever left it there.
	const marks = `SELECT string_agg(m, ' ' ORDER BY m) FROM (
		SELECT ctid || '/' || xmin || '/' || xmax FROM factory UNION ALL
		SELECT ctid || '/' || xmin || '/' || xmax FROM agent UNION ALL
		SELECT ctid || '/' || xmin || '/' || xmax FROM job UNION ALL
		SELECT ctid || '/' || xmin || '/' || xmax FROM job_ready UNION ALL
		SELECT ctid || '/' || xmin || '/' || xmax FROM event) x(m)`
	unchanged := func(reason string) {
		t.Helper()
		before := dbfactory.Text(t, w.db, marks)
		w.nothing(agent, reason)
		if after := dbfactory.Text(t, w.db, marks); after != before {
			t.Errorf("a claim that gave nothing for %q left a mark:\n%s\n%s", reason, before, after)
		}
	}
	held := w.claim(agent)
	unchanged(dispatch.ReasonEmpty)
	w.job("one too many")
	unchanged(dispatch.ReasonNoSeats)
	w.complete(agent, held)
	w.complete(agent, w.claim(agent))
	unchanged(dispatch.ReasonEmpty)
}

func TestALongPollWakesOnAnotherProcess(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	other := inWorkspace(t, w.db, w.workspace)
	got := make(chan jobs.Job, 1)
	go func() {
		claimed, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{Wait: waitlist.MaxWait})
		if err != nil || len(claimed.Jobs) != 1 {
			t.Errorf("claim: %v, %v", claimed, err)
			close(got)
			return
		}
		got <- claimed.Jobs[0]
	}()
	made := other.job("submitted elsewhere")
	if j := <-got; j.Key != made.Key {
		t.Errorf("claimed %s; want %s", j.Key, made.Key)
	}
}

func TestALongPollEndsWithTheRequest(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	start := time.Now()
	got, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{Wait: 300 * time.Millisecond})
	if err != nil || got.Reason != dispatch.ReasonEmpty || got.QueueVersion == "" {
		t.Errorf("claim = %+v, %v", got, err)
	}
	if held := time.Since(start); held < 300*time.Millisecond {
		t.Errorf("held for %s; want 300ms", held)
	}
}

func TestALongPollForASeatWakesWhenOneComesFree(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1", func(r *fleet.Registration) { r.MaxConcurrentJobs = 1 })
	w.dispatch.TrustWakeUps()
	w.job("one")
	second := w.job("two")
	held := w.claim(agent)
	got := make(chan []jobs.Job, 1)
	go func() {
		claimed, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{Wait: waitlist.MaxWait})
		if err != nil {
			t.Errorf("claim: %v", err)
		}
		got <- claimed.Jobs
	}()
	if _, err := w.dispatch.Complete(w.ctx, agent, ref(held), dispatch.Completion{}); err != nil {
		t.Fatal(err)
	}
	if list := <-got; len(list) != 1 || list[0].Key != second.Key {
		t.Errorf("claimed %v; want %s", list, second.Key)
	}
}

func TestALongPollOfADrainedFactoryWakesWhenItIsGivenJobsAgain(t *testing.T) {
	w := newWorld(t)
	w.dispatch.TrustWakeUps()
	agent := w.agent("claude-1")
	hosts := fleet.NewService(w.db, w.wake)
	if _, err := hosts.SetDraining(w.ctx, w.owner, agent.Factory, true); err != nil {
		t.Fatal(err)
	}
	job := w.job("one")
	got := make(chan []jobs.Job, 1)
	go func() {
		claimed, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{Wait: waitlist.MaxWait})
		if err != nil {
			t.Errorf("claim: %v", err)
		}
		got <- claimed.Jobs
	}()
	if _, err := hosts.SetDraining(w.ctx, w.owner, agent.Factory, false); err != nil {
		t.Fatal(err)
	}
	if list := <-got; len(list) != 1 || list[0].Key != job.Key {
		t.Errorf("claimed %v; want %s", list, job.Key)
	}
}

func TestTheQueueVersionChangesOnlyWithItsLanes(t *testing.T) {
	w := newWorld(t)
	<-w.listening // which changes all versions
	agent := w.agent("claude-1")
	w.job("elsewhere", needs("engine:codex"))
	w.job("here")
	w.claim(agent)
	got, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if v := w.dispatch.QueueVersion(agent); v != got.QueueVersion {
		t.Errorf("version %s; the claim said %s", v, got.QueueVersion)
	}
	w.job("elsewhere again", needs("engine:codex"))
	if v := w.dispatch.QueueVersion(agent); v != got.QueueVersion {
		t.Errorf("version %s after a job of another lane; want %s", v, got.QueueVersion)
	}
	w.job("here again")
	if v := w.dispatch.QueueVersion(agent); v == got.QueueVersion {
		t.Errorf("version %s after a job of its lane; want another", v)
	}
}

func TestManyClaimersGetEachJobOnce(t *testing.T) {
	w := newWorld(t)
	const total, claimers = 300, 12
	batch := make([]jobs.New, total)
	for i := range batch {
		batch[i] = jobs.New{Title: fmt.Sprint("job ", i)}
	}
	if _, err := w.jobs.Create(w.ctx, w.owner, jobs.Origin{}, batch...); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]int{}
	var all sync.WaitGroup
	for i := range claimers {
		agent := w.agent(fmt.Sprint("claude-", i))
		all.Go(func() {
			for {
				got, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{Max: 1 + i%3})
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
					if _, err := w.dispatch.Complete(w.ctx, agent, ref(j), dispatch.Completion{}); err != nil {
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
	w.consistent()
}

// One agent cannot have any number of claims waiting; those that wait for nothing are
// answered all the same.
func TestAnAgentHasOnlySoManyClaimsWaiting(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	answers := make(chan error, waitlist.MaxAgentClaims+1)
	for range waitlist.MaxAgentClaims + 1 {
		go func() {
			_, err := w.dispatch.Claim(ctx, agent, dispatch.ClaimRequest{Wait: 50 * time.Second})
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
	if claimed, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{}); err != nil || claimed.Reason != dispatch.ReasonEmpty {
		t.Errorf("%+v, %v", claimed, err)
	}
	if _, err := w.dispatch.Claim(w.ctx, w.agent("claude-2"), dispatch.ClaimRequest{Wait: time.Millisecond}); err != nil {
		t.Errorf("another agent: %v", err)
	}
	cancel()
	for range waitlist.MaxAgentClaims {
		<-answers
	}
}
