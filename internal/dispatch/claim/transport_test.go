package claim_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/e2e/transporttest"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/notifier"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/transport"
	"github.com/fleetboard/fleetboard/internal/waitlist"
)

// two are two processes on one database over a transport.
func two(t *testing.T, over func(notifier.Transport) notifier.Transport, name string) (one, other *dispatchtest.Fixture) {
	t.Helper()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	one = dispatchtest.Over(t, d, workspace, over(transporttest.Named(t, d, name)))
	other = dispatchtest.Over(t, d, workspace, over(transporttest.Named(t, d, name)))
	return one, other
}

func whole(t notifier.Transport) notifier.Transport { return t }

func dropping(t notifier.Transport) notifier.Transport { return transporttest.Dropping{Transport: t} }

// Over NOTIFY and over NATS a job wakes the claim that waits at another process, without the
// safety poll.
func TestAJobWakesAnotherProcess(t *testing.T) {
	for _, name := range []string{transport.NameListen, transport.NameNATS} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, other := two(t, whole, name)
			<-one.Listening
			<-other.Listening
			other.Dispatch.WatchEvery(time.Hour)
			agent := other.Agent("a")
			one.Job("now the lane is known")
			other.Complete(agent, other.Claim(agent))
			got := (&testWorkspace{other}).awaits(agent)
			began := time.Now()
			made := one.Job("for the other")
			if claimed := <-got; len(claimed.Jobs) != 1 || claimed.Jobs[0].Key != made.Key {
				t.Fatalf("the claim gave %d jobs (%s)", len(claimed.Jobs), claimed.Reason)
			}
			t.Logf("claimed %v after it was asked for", time.Since(began).Round(100*time.Microsecond))
			if s := other.Wake.Status(); !s.Connected || s.LastMessageAt.IsZero() || s.Transport != name {
				t.Errorf("%+v", s)
			}
		})
	}
}

// With every NOTIFY and every NATS message dropped, and with none sent, the safety poll delivers
// all jobs, each once.
func TestWithoutMessagesTheSafetyPollDeliversAll(t *testing.T) {
	const agents, count = 10, 100
	for name, over := range map[string]func(notifier.Transport) notifier.Transport{
		transport.NameListen: dropping, transport.NameNATS: dropping, transport.NamePoll: whole,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, other := two(t, over, name)
			other.Dispatch.WatchEvery(20 * time.Millisecond)
			<-other.Listening
			var all sync.WaitGroup
			var mu sync.Mutex
			ended := map[string]int{}
			done := make(chan struct{})
			for i := range agents {
				agent := other.Agent(fmt.Sprint("a", i))
				all.Go(func() {
					for total(&mu, ended) < count {
						claimOne(other, agent, done, func(j jobs.Job) {
							mu.Lock()
							defer mu.Unlock()
							if ended[j.Key]++; len(ended) == count {
								close(done)
							}
						})
					}
				})
			}
			for i := range count {
				one.Job(fmt.Sprint("job ", i))
				<-time.After(5 * time.Millisecond) // so that claims wait in between
			}
			all.Wait()
			for key, n := range ended {
				if n != 1 {
					t.Errorf("%s ended %d times", key, n)
				}
			}
			if s := other.Wake.Status(); !s.LastMessageAt.IsZero() {
				t.Errorf("a message came at %v", s.LastMessageAt)
			}
			one.Consistent()
		})
	}
}

func total(mu *sync.Mutex, ended map[string]int) int {
	mu.Lock()
	defer mu.Unlock()
	return len(ended)
}

// claimOne waits for a job until done, and completes it.
func claimOne(w *dispatchtest.Fixture, agent tenancy.Principal, done <-chan struct{}, completed func(jobs.Job)) {
	ctx, cancel := contextUntil(w.Ctx, done)
	defer cancel()
	got, err := w.Dispatch.Claim(ctx, agent, claim.Request{Wait: waitlist.MaxWait})
	if err != nil && ctx.Err() == nil {
		w.T.Errorf("claim: %v", err)
		return
	}
	for _, j := range got.Jobs {
		completed(w.Complete(agent, j))
	}
}

// contextUntil returns a context that also ends with done.
func contextUntil(ctx context.Context, done <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-done:
		case <-ctx.Done():
		}
		cancel()
	}()
	return ctx, cancel
}
