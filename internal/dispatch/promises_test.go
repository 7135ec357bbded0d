package dispatch_test

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Promise P4 where nobody coordinates: a claim alone finds the job of an agent that
// is dead, or whose lease has ended, and gets it.
func TestAClaimNeedsNoCoordinator(t *testing.T) {
	for name, gone := range map[string]func(w *testWorkspace, held jobs.Job){
		"the lease has ended": func(w *testWorkspace, held jobs.Job) { w.Expire(held) },
		"the agent is dead":   func(w *testWorkspace, _ jobs.Job) { w.silence() },
		"the agent's own time is over": func(w *testWorkspace, _ jobs.Job) {
			dbfactory.Exec(w.T, w.DB, `UPDATE agent SET last_heartbeat_at = clock_timestamp() - interval '61 seconds' WHERE name = 'claude-1'`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			one := newTestWorkspace(t)
			twenty := 20 // dead after three times as long
			first := one.Agent("claude-1", func(r *fleet.Registration) { r.StaleAfterSeconds = &twenty })
			made := one.Job("one")
			held := one.Claim(first)
			gone(one, held)
			two := inWorkspace(t, one.DB, one.Workspace)
			if again := two.Claim(two.Agent("claude-2")); again.ID != made.ID || again.Epoch != 2 || again.LostCount != 1 {
				t.Errorf("claimed %s of epoch %d after %d losses", again.Key, again.Epoch, again.LostCount)
			}
			two.Consistent()
		})
	}
}

// Promise P11: what a worker's clock says is kept beside what ours says, and
// decides nothing: not the order of its lines, not how long they are kept, not
// how long its lease lasts.
func TestAWorkersClockDecidesNothing(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	before := w.Get(held).Lease.ExpiresAt
	line := func(message string, at time.Time) joblog.Line {
		return joblog.Line{Level: joblog.Info, Message: message, At: &at}
	}
	now := time.Now()
	w.write(agent, held, line("first, from tomorrow's year", now.AddDate(1, 0, 0)), line("second, long ago", now.AddDate(-20, 0, 0)))
	w.write(agent, held, line("third, of today", now))
	if list := w.written(held); len(list) != 3 || list[0][:5] != "first" || list[1][:6] != "second" || list[2][:5] != "third" {
		t.Errorf("the log is %q", list)
	}
	if after := w.Get(held).Lease.ExpiresAt; !after.Equal(before) {
		t.Errorf("the lease ends at %s; it did at %s", after, before)
	}
	if n, err := joblog.NewService(w.DB).ExpireLogs(w.Ctx); n != 0 || err != nil {
		t.Errorf("%d lines were deleted, %v: none of them came more than 30 days ago", n, err)
	}
	dbfactory.Exec(t, w.DB, `UPDATE job_log SET received_at = clock_timestamp() - interval '31 days' WHERE message LIKE 'first%'`)
	if n, err := joblog.NewService(w.DB).ExpireLogs(w.Ctx); n != 1 || err != nil {
		t.Errorf("%d lines were deleted, %v; want the one that came 31 days ago", n, err)
	}
}

// Two processes that delete old lines at once delete each once.
func TestTwoMayExpireLogsAtOnce(t *testing.T) {
	one := newTestWorkspace(t)
	made := one.Job("one")
	dbfactory.Exec(t, one.DB, `INSERT INTO job_log (workspace_id, job_id, epoch, agent, level, message, received_at)
		SELECT $1, $2, 1, 'a', 'INFO', n::text, now() - interval '40 days' + n * interval '1 second' FROM generate_series(1, 3000) n`, one.Workspace, made.ID)
	two := inWorkspace(t, one.DB, one.Workspace)
	sums := make(chan int, 2)
	for _, w := range []*testWorkspace{one, two} {
		go func() {
			n, err := joblog.NewService(w.DB).ExpireLogs(w.Ctx)
			if err != nil {
				t.Errorf("expire logs: %v", err)
			}
			sums <- n
		}()
	}
	if n := <-sums + <-sums; n != 3000 {
		t.Errorf("together they deleted %d; want 3000", n)
	}
}

// The counters are apart: a loss is no failure, a failure no loss, what a person,
// a question or a second boot ends is neither; a retry forgets both, and nothing
// ever lowers the epoch.
func TestCountersAreApart(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one", retries(5, 1), losses(5), estimate(20))
	epoch := int64(0)
	for _, step := range []struct {
		name           string
		end            func(held jobs.Job)
		failures, lost int
	}{
		{"lost", func(held jobs.Job) { w.Expire(held); w.sweeps("reap", 1) }, 0, 1},
		{"failed", func(held jobs.Job) { w.must(fails, agent, held) }, 1, 1},
		{"given back", func(held jobs.Job) { w.must(releases, agent, held) }, 1, 1},
		{"taken away", func(held jobs.Job) { w.Act(held, jobs.ByRelease) }, 1, 1},
		{"reclaimed", func(held jobs.Job) { w.must(reclaims, agent, held) }, 1, 1},
		{"asked", func(held jobs.Job) { w.must(asks, agent, held); w.Act(held, jobs.ByAnswer) }, 1, 1},
		{"paused", func(held jobs.Job) {
			w.Act(held, jobs.ByPause)
			w.must(releases, agent, held)
			w.Act(held, jobs.ByResume)
		}, 1, 1},
		{"timed out", func(_ jobs.Job) {
			dbfactory.Exec(t, w.DB, `UPDATE job_lease SET warned_at = clock_timestamp() - interval '1 hour'`)
			w.sweeps("time out", 1)
		}, 2, 1},
		{"lost again", func(held jobs.Job) { w.Expire(held); w.sweeps("reap", 1) }, 2, 2},
		{"cancelled and tried again", func(held jobs.Job) {
			w.Act(held, jobs.ByCancel)
			w.must(releases, agent, held)
			w.Act(held, jobs.ByRetry)
		}, 0, 0},
	} {
		held := w.Claim(agent)
		if epoch++; held.Epoch != epoch {
			t.Errorf("%s: epoch %d; want %d", step.name, held.Epoch, epoch)
		}
		step.end(held)
		now := w.Get(held)
		if now.FailureCount != step.failures || now.LostCount != step.lost {
			t.Errorf("%s: %d failures, %d losses; want %d and %d", step.name, now.FailureCount, now.LostCount, step.failures, step.lost)
		}
		dbfactory.Exec(t, w.DB, `UPDATE job SET not_before = clock_timestamp() WHERE wait_reason = 'retry_backoff'`)
		if _, err := w.Dispatch.Promote(w.Ctx); err != nil {
			t.Fatal(err)
		}
	}
	w.Consistent()
}

// must runs what cannot be refused.
func (w *testWorkspace) must(r racer, agent tenancy.Principal, held jobs.Job) {
	w.T.Helper()
	if err := r.run(w, agent, held); err != nil {
		w.T.Fatalf("%s: %v", r.name, err)
	}
}
