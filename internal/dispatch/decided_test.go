package dispatch_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/recovery"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// carriers are who carries out what a person decided where that is no part of the
// server; a person who does it himself is not named twice.
var carriers = map[string]tenancy.Kind{"a person takes it back": "", "the agent fails": tenancy.KindAgent,
	"the agent gives it back": tenancy.KindAgent, "the agent asks": tenancy.KindAgent, "the agent starts again": tenancy.KindEnrolment, "the agent is ended": ""}

// carriedOut checks that a job and its last event name who decided, and beside
// who carried it out.
func (w *testWorkspace) carriedOut(j jobs.Job, how string) {
	w.T.Helper()
	want, known := carriers[how]
	if !known {
		want = tenancy.KindSystem
	}
	if j.StatusBy != w.Owner.Actor() || j.CarriedOutBy.Kind != want {
		w.T.Errorf("decided by %+v, carried out by %+v; want %+v and %q", j.StatusBy, j.CarriedOutBy, w.Owner.Actor(), want)
	}
	list, err := eventlog.New(w.DB, nil).OfJob(w.Ctx, w.Owner, j.ID, 0, 1)
	if err != nil || len(list) != 1 {
		w.T.Fatalf("%d events, %v", len(list), err)
	}
	var said struct {
		CarriedOutBy tenancy.Actor `json:"carried_out_by"`
	}
	if err := json.Unmarshal(list[0].Payload, &said); err != nil || list[0].Actor != w.Owner.Actor() || said.CarriedOutBy != j.CarriedOutBy {
		w.T.Errorf("%s by %+v, carried out by %+v, %v", list[0].Type, list[0].Actor, said.CarriedOutBy, err)
	}
}

// However the lease of a job ends that a person wants paused or cancelled, that
// is what becomes of it: no loss, no failure and no new attempt comes in between,
// and it stays the decision of that person.
func TestNoEndOfALeaseUndoesWhatAPersonDecided(t *testing.T) {
	for name, end := range map[string]func(w *testWorkspace, agent tenancy.Principal, held jobs.Job){
		"the lease ends": func(w *testWorkspace, _ tenancy.Principal, held jobs.Job) {
			w.Expire(held)
			w.sweeps("reap", 1)
		},
		"the agent dies": func(w *testWorkspace, _ tenancy.Principal, _ jobs.Job) {
			w.silence()
			w.sweeps("reap", 1)
		},
		"the grace ends": func(w *testWorkspace, _ tenancy.Principal, held jobs.Job) {
			dbfactory.Exec(w.T, w.DB, `UPDATE job_lease SET grace_ends_at = clock_timestamp() WHERE job_id = $1`, held.ID)
			w.sweeps("reap", 1)
		},
		"a claim takes it back": func(w *testWorkspace, _ tenancy.Principal, held jobs.Job) {
			w.Expire(held)
			other := inWorkspace(w.T, w.DB, w.Workspace) // a process whose claims have not looked yet
			other.Nothing(other.Agent("claude-2"), claim.ReasonEmpty)
		},
		"a person recovers": func(w *testWorkspace, _ tenancy.Principal, held jobs.Job) {
			w.Expire(held)
			if got, err := w.Dispatch.Recover(w.Ctx, w.Owner); got.TakenBack != 1 || err != nil {
				w.T.Errorf("recover = %+v, %v", got, err)
			}
		},
		"a person takes it back": func(w *testWorkspace, _ tenancy.Principal, held jobs.Job) {
			if n, err := w.Dispatch.Reclaim(w.Ctx, w.Owner, held.Key); n != 1 || err != nil {
				w.T.Errorf("reclaim = %d, %v", n, err)
			}
		},
		"its time is out": func(w *testWorkspace, _ tenancy.Principal, held jobs.Job) {
			dbfactory.Exec(w.T, w.DB, `UPDATE job_lease SET warned_at = clock_timestamp() - interval '1 hour' WHERE job_id = $1`, held.ID)
			w.sweeps("time out", 1)
		},
		"it was lost too often": func(w *testWorkspace, _ tenancy.Principal, held jobs.Job) {
			dbfactory.Exec(w.T, w.DB, `UPDATE job SET lost_count = max_lost WHERE id = $1`, held.ID)
			w.Expire(held)
			w.sweeps("reap", 1)
			dbfactory.Exec(w.T, w.DB, `UPDATE job SET lost_count = lost_count - max_lost WHERE id = $1`, held.ID)
		},
		"the agent fails": func(w *testWorkspace, agent tenancy.Principal, held jobs.Job) {
			if _, err := w.Dispatch.Fail(w.Ctx, agent, ref(held), report.Failure{Error: "x"}); err != nil {
				w.T.Error(err)
			}
		},
		"the agent gives it back": func(w *testWorkspace, agent tenancy.Principal, held jobs.Job) {
			if err := releases.run(w, agent, held); err != nil {
				w.T.Error(err)
			}
		},
		"the agent asks": func(w *testWorkspace, agent tenancy.Principal, held jobs.Job) {
			if err := asks.run(w, agent, held); err != nil {
				w.T.Error(err)
			}
		},
		"the agent starts again": func(w *testWorkspace, agent tenancy.Principal, held jobs.Job) {
			if err := reboots.run(w, agent, held); err != nil {
				w.T.Error(err)
			}
		},
		"the agent is ended": func(w *testWorkspace, agent tenancy.Principal, held jobs.Job) {
			if err := ends.run(w, agent, held); err != nil {
				w.T.Error(err)
			}
		},
	} {
		for verb, want := range map[jobs.Trigger]jobs.Status{jobs.ByPause: jobs.Paused, jobs.ByCancel: jobs.Aborted} {
			t.Run(string(verb)+" and "+name, func(t *testing.T) {
				w := newTestWorkspace(t)
				agent := w.Agent("claude-1")
				w.Job("one", estimate(20))
				held := w.Claim(agent)
				w.Act(held, verb)
				end(w, agent, held)
				if now := w.Want(held, want); now.LostCount != 0 || now.FailureCount != 0 || now.Question != "" || now.NotBefore != nil {
					t.Errorf("%d losses, %d failures, question %q, not before %v", now.LostCount, now.FailureCount, now.Question, now.NotBefore)
				}
				w.carriedOut(w.Get(held), name)
				w.Nothing(w.Agent("claude-3"), claim.ReasonEmpty)
				w.Consistent()
			})
		}
	}
}

// A job that ends at one of its limits was ended by the limit, not by the agent
// that reached it.
func TestALimitIsNobodysDecision(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	for limit, bring := range map[string]func(held jobs.Job){
		"max_retries": func(held jobs.Job) {
			if _, err := w.Dispatch.Fail(w.Ctx, agent, ref(held), report.Failure{Error: "x", Retryable: true}); err != nil {
				t.Error(err)
			}
		},
		"max_lost": func(held jobs.Job) {
			w.Expire(held)
			w.sweeps("reap", 1)
		},
	} {
		w.Job(limit)
		held := w.Claim(agent)
		dbfactory.Exec(t, w.DB, `UPDATE job SET failure_count = max_retries, lost_count = max_lost WHERE id = $1`, held.ID)
		bring(held)
		now := w.Want(held, jobs.Failed)
		if now.StatusBy != (tenancy.Actor{Kind: tenancy.KindSystem, ID: limit, Name: limit}) {
			t.Errorf("%s: decided by %+v", limit, now.StatusBy)
		}
	}
	w.Job("not retryable")
	held := w.Claim(agent)
	if _, err := w.Dispatch.Fail(w.Ctx, agent, ref(held), report.Failure{Error: "x"}); err != nil {
		t.Fatal(err)
	}
	if now := w.Want(held, jobs.Failed); now.StatusBy != agent.Actor() || now.CarriedOutBy != (tenancy.Actor{}) {
		t.Errorf("decided by %+v, carried out by %+v", now.StatusBy, now.CarriedOutBy)
	}
}

// No sweep wakes what a person parked, whatever it waited for has come.
func TestNoSweepWakesWhatAPersonParked(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	first := w.Job("first", priority(10))
	soon := func(n *jobs.New) { n.NotBefore = number(time.Now().Add(time.Hour)) }
	parked := map[jobs.Status][]jobs.Job{}
	for verb, status := range map[jobs.Trigger]jobs.Status{jobs.ByPause: jobs.Paused, jobs.ByBlock: jobs.Blocked, jobs.ByCancel: jobs.Aborted} {
		for _, change := range []func(*jobs.New){soon, dependsOn(first.Key), needs("os:linux")} {
			parked[status] = append(parked[status], w.Act(w.Job(string(verb), change), verb))
		}
	}
	w.Complete(agent, w.Claim(agent))
	w.Job("asks", priority(10))
	asked := w.Claim(agent)
	if err := asks.run(w, agent, asked); err != nil {
		t.Fatal(err)
	}
	parked[jobs.Blocked] = append(parked[jobs.Blocked], asked)
	dbfactory.Exec(t, w.DB, `UPDATE job SET not_before = clock_timestamp() - interval '1 minute' WHERE not_before IS NOT NULL`)
	w.silence()
	for range 2 {
		if got, err := w.Dispatch.Recover(w.Ctx, w.Owner); got != (recovery.Counts{}) || err != nil {
			t.Errorf("recovery changed %+v, %v", got, err)
		}
		w.sweeps("promote", 0)
	}
	for status, list := range parked {
		for _, j := range list {
			w.Want(j, status)
		}
	}
	w.Nothing(agent, claim.ReasonEmpty)
	w.Consistent()
}
