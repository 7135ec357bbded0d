package dispatch_test

import (
	"testing"
	"time"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// However the lease of a job ends that a person wants paused or cancelled, that
// is what becomes of it: no loss, no failure and no new attempt comes in between.
func TestNoEndOfALeaseUndoesWhatAPersonDecided(t *testing.T) {
	for name, end := range map[string]func(w *world, agent tenancy.Principal, held jobs.Job){
		"the lease ends": func(w *world, _ tenancy.Principal, held jobs.Job) {
			w.expire(held)
			w.sweeps("reap", 1)
		},
		"the agent dies": func(w *world, _ tenancy.Principal, _ jobs.Job) {
			w.silence()
			w.sweeps("reap", 1)
		},
		"the grace ends": func(w *world, _ tenancy.Principal, held jobs.Job) {
			dbfactory.Exec(w.t, w.db, `UPDATE job_lease SET grace_ends_at = clock_timestamp() WHERE job_id = $1`, held.ID)
			w.sweeps("reap", 1)
		},
		"a claim takes it back": func(w *world, _ tenancy.Principal, held jobs.Job) {
			w.expire(held)
			other := inWorkspace(w.t, w.db, w.workspace) // a process whose claims have not looked yet
			other.nothing(other.agent("claude-2"), dispatch.ReasonEmpty)
		},
		"a person recovers": func(w *world, _ tenancy.Principal, held jobs.Job) {
			w.expire(held)
			if got, err := w.dispatch.Recover(w.ctx, w.owner); got.TakenBack != 1 || err != nil {
				w.t.Errorf("recover = %+v, %v", got, err)
			}
		},
		"a person takes it back": func(w *world, _ tenancy.Principal, held jobs.Job) {
			if n, err := w.dispatch.Reclaim(w.ctx, w.owner, held.Key); n != 1 || err != nil {
				w.t.Errorf("reclaim = %d, %v", n, err)
			}
		},
		"its time is out": func(w *world, _ tenancy.Principal, held jobs.Job) {
			dbfactory.Exec(w.t, w.db, `UPDATE job_lease SET warned_at = clock_timestamp() - interval '1 hour' WHERE job_id = $1`, held.ID)
			w.sweeps("time out", 1)
		},
		"it was lost too often": func(w *world, _ tenancy.Principal, held jobs.Job) {
			dbfactory.Exec(w.t, w.db, `UPDATE job SET lost_count = max_lost WHERE id = $1`, held.ID)
			w.expire(held)
			w.sweeps("reap", 1)
			dbfactory.Exec(w.t, w.db, `UPDATE job SET lost_count = lost_count - max_lost WHERE id = $1`, held.ID)
		},
		"the agent fails": func(w *world, agent tenancy.Principal, held jobs.Job) {
			if _, err := w.dispatch.Fail(w.ctx, agent, ref(held), dispatch.Failure{Error: "x"}); err != nil {
				w.t.Error(err)
			}
		},
		"the agent gives it back": func(w *world, agent tenancy.Principal, held jobs.Job) {
			if err := releases.run(w, agent, held); err != nil {
				w.t.Error(err)
			}
		},
		"the agent asks": func(w *world, agent tenancy.Principal, held jobs.Job) {
			if err := asks.run(w, agent, held); err != nil {
				w.t.Error(err)
			}
		},
		"the agent starts again": func(w *world, agent tenancy.Principal, held jobs.Job) {
			if err := reboots.run(w, agent, held); err != nil {
				w.t.Error(err)
			}
		},
		"the agent is ended": func(w *world, agent tenancy.Principal, held jobs.Job) {
			if err := ends.run(w, agent, held); err != nil {
				w.t.Error(err)
			}
		},
	} {
		for verb, want := range map[jobs.Trigger]jobs.Status{jobs.ByPause: jobs.Paused, jobs.ByCancel: jobs.Aborted} {
			t.Run(string(verb)+" and "+name, func(t *testing.T) {
				w := newWorld(t)
				agent := w.agent("claude-1")
				w.job("one", estimate(20))
				held := w.claim(agent)
				w.act(held, verb)
				end(w, agent, held)
				if now := w.want(held, want); now.LostCount != 0 || now.FailureCount != 0 || now.Question != "" || now.NotBefore != nil {
					t.Errorf("%d losses, %d failures, question %q, not before %v", now.LostCount, now.FailureCount, now.Question, now.NotBefore)
				}
				w.nothing(w.agent("claude-3"), dispatch.ReasonEmpty)
				w.consistent()
			})
		}
	}
}

// No sweep wakes what a person parked, whatever it waited for has come.
func TestNoSweepWakesWhatAPersonParked(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	first := w.job("first", priority(10))
	soon := func(n *jobs.New) { n.NotBefore = number(time.Now().Add(time.Hour)) }
	parked := map[jobs.Status][]jobs.Job{}
	for verb, status := range map[jobs.Trigger]jobs.Status{jobs.ByPause: jobs.Paused, jobs.ByBlock: jobs.Blocked, jobs.ByCancel: jobs.Aborted} {
		for _, change := range []func(*jobs.New){soon, dependsOn(first.Key), needs("os:linux")} {
			parked[status] = append(parked[status], w.act(w.job(string(verb), change), verb))
		}
	}
	w.complete(agent, w.claim(agent))
	w.job("asks", priority(10))
	asked := w.claim(agent)
	if err := asks.run(w, agent, asked); err != nil {
		t.Fatal(err)
	}
	parked[jobs.Blocked] = append(parked[jobs.Blocked], asked)
	dbfactory.Exec(t, w.db, `UPDATE job SET not_before = clock_timestamp() - interval '1 minute' WHERE not_before IS NOT NULL`)
	w.silence()
	for range 2 {
		if got, err := w.dispatch.Recover(w.ctx, w.owner); got != (dispatch.Recovery{}) || err != nil {
			t.Errorf("recovery changed %+v, %v", got, err)
		}
		w.sweeps("promote", 0)
	}
	for status, list := range parked {
		for _, j := range list {
			w.want(j, status)
		}
	}
	w.nothing(agent, dispatch.ReasonEmpty)
	w.consistent()
}
