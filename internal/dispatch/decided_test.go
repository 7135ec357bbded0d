package dispatch_test

import (
	"encoding/json"
	"testing"
	"time"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// carriers are who carries out what a person decided where that is no part of the
// server; a person who does it himself is not named twice.
var carriers = map[string]tenancy.Kind{"a person takes it back": "", "the agent fails": tenancy.KindAgent,
	"the agent gives it back": tenancy.KindAgent, "the agent asks": tenancy.KindAgent, "the agent starts again": tenancy.KindEnrolment, "the agent is ended": ""}

// carriedOut checks that a job and its last event name who decided, and beside
// who carried it out.
func (w *world) carriedOut(j jobs.Job, how string) {
	w.t.Helper()
	want, known := carriers[how]
	if !known {
		want = tenancy.KindSystem
	}
	if j.StatusBy != w.owner.Actor() || j.CarriedOutBy.Kind != want {
		w.t.Errorf("decided by %+v, carried out by %+v; want %+v and %q", j.StatusBy, j.CarriedOutBy, w.owner.Actor(), want)
	}
	list, err := eventlog.New(w.db).OfJob(w.ctx, w.owner, j.ID, 0, 1)
	if err != nil || len(list) != 1 {
		w.t.Fatalf("%d events, %v", len(list), err)
	}
	var said struct {
		CarriedOutBy tenancy.Actor `json:"carried_out_by"`
	}
	if err := json.Unmarshal(list[0].Payload, &said); err != nil || list[0].Actor != w.owner.Actor() || said.CarriedOutBy != j.CarriedOutBy {
		w.t.Errorf("%s by %+v, carried out by %+v, %v", list[0].Type, list[0].Actor, said.CarriedOutBy, err)
	}
}

// However the lease of a job ends that a person wants paused or cancelled, that
// is what becomes of it: no loss, no failure and no new attempt comes in between,
// and it stays the decision of that person.
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
				w.carriedOut(w.get(held), name)
				w.nothing(w.agent("claude-3"), dispatch.ReasonEmpty)
				w.consistent()
			})
		}
	}
}

// A job that ends at one of its limits was ended by the limit, not by the agent
// that reached it.
func TestALimitIsNobodysDecision(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	for limit, bring := range map[string]func(held jobs.Job){
		"max_retries": func(held jobs.Job) {
			if _, err := w.dispatch.Fail(w.ctx, agent, ref(held), dispatch.Failure{Error: "x", Retryable: true}); err != nil {
				t.Error(err)
			}
		},
		"max_lost": func(held jobs.Job) {
			w.expire(held)
			w.sweeps("reap", 1)
		},
	} {
		w.job(limit)
		held := w.claim(agent)
		dbfactory.Exec(t, w.db, `UPDATE job SET failure_count = max_retries, lost_count = max_lost WHERE id = $1`, held.ID)
		bring(held)
		now := w.want(held, jobs.Failed)
		if now.StatusBy != (tenancy.Actor{Kind: tenancy.KindSystem, ID: limit, Name: limit}) {
			t.Errorf("%s: decided by %+v", limit, now.StatusBy)
		}
	}
	w.job("not retryable")
	held := w.claim(agent)
	if _, err := w.dispatch.Fail(w.ctx, agent, ref(held), dispatch.Failure{Error: "x"}); err != nil {
		t.Fatal(err)
	}
	if now := w.want(held, jobs.Failed); now.StatusBy != agent.Actor() || now.CarriedOutBy != (tenancy.Actor{}) {
		t.Errorf("decided by %+v, carried out by %+v", now.StatusBy, now.CarriedOutBy)
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
