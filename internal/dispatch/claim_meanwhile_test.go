package dispatch_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// hopeful returns an agent that has just ended a job, so that its next claim locks first.
func (w *testWorkspace) hopeful(change ...func(*fleet.Registration)) tenancy.Principal {
	w.T.Helper()
	agent := w.Agent("claude-1", change...)
	w.Job("done")
	w.Complete(agent, w.Claim(agent))
	return agent
}

// meanwhile runs a statement in a transaction of its own and then the claims. When
// each of them waits for a lock or has ended it runs the rest, and commits.
func (w *testWorkspace) meanwhile(first string, claims []func(), then ...string) {
	w.T.Helper()
	conn := dbtest.Owner(w.T, w.DB)
	tx, err := conn.Begin(w.Ctx)
	if err != nil {
		w.T.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(w.Ctx)) }()
	exec := func(sql string) {
		w.T.Helper()
		if _, err := tx.Exec(w.Ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			w.T.Fatal(err)
		}
	}
	exec(first)
	done := make([]chan struct{}, len(claims))
	for i, claim := range claims {
		done[i] = make(chan struct{})
		go func() { defer close(done[i]); claim() }()
	}
	w.underWay(tx, len(claims), done)
	for _, sql := range then {
		exec(sql)
	}
	if err := tx.Commit(w.Ctx); err != nil {
		w.T.Fatal(err)
	}
	for _, one := range done {
		<-one
	}
}

// A job that somebody is taking at this moment is nobody else's, however sure a
// claim was of it.
func TestAClaimPassesOverAJobThatIsBeingTaken(t *testing.T) {
	for name, agentOf := range map[string]func(*testWorkspace) tenancy.Principal{
		"at first":          func(w *testWorkspace) tenancy.Principal { return w.Agent("claude-1") },
		"after another one": func(w *testWorkspace) tenancy.Principal { return w.hopeful() },
		"with all its seats": func(w *testWorkspace) tenancy.Principal {
			return w.hopeful(func(r *fleet.Registration) { r.MaxConcurrentJobs = 1 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorkspace(t)
			agent := agentOf(w)
			first, second := w.Job("first", priority(9)), w.Job("second")
			w.meanwhile(`SELECT FROM job_ready WHERE job_id = '`+first.ID.String()+`' FOR UPDATE`, []func(){func() {
				if got := w.Claim(agent); got.Key != second.Key {
					t.Errorf("claimed %s; want the second, %s", got.Key, second.Key)
				}
			}})
			w.Want(first, jobs.Ready)
			w.Consistent()
		})
	}
}

// Where the only job is being taken, and is not in the end, it is still there.
func TestAClaimOfAJobThatIsBeingTakenFindsNothing(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.hopeful()
	only := w.Job("only")
	w.meanwhile(`SELECT FROM job_ready FOR UPDATE`, []func(){func() { w.Nothing(agent, claim.ReasonEmpty) }})
	w.Consistent()
	if got := w.Claim(agent); got.Key != only.Key {
		t.Errorf("claimed %s; want %s", got.Key, only.Key)
	}
}

// A job that gets other needs after a claim has seen it, and before it is taken, is
// not given to whoever cannot do it. The claim reads products behind the heads of the
// lanes.
func TestAClaimDoesNotGetAJobThatHasLeftItsLane(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.hopeful()
	moving := w.Job("moving")
	elsewhere := w.Job("elsewhere", needs("engine:codex"))
	w.meanwhile(`LOCK TABLE product IN ACCESS EXCLUSIVE MODE`, []func(){func() { w.Nothing(agent, claim.ReasonEmpty) }},
		`UPDATE job_ready SET lane_id = (SELECT lane_id FROM job WHERE id = '`+elsewhere.ID.String()+`')`,
		`UPDATE job SET lane_id = (SELECT lane_id FROM job WHERE id = '`+elsewhere.ID.String()+`') WHERE id = '`+moving.ID.String()+`'`)
	w.Want(moving, jobs.Ready)
	w.Consistent()
}

// Two agents of two processes that both hope for the factory's one free seat: one
// gets it. Neither can write before both have counted, or wait to.
func TestHopefulClaimsCountSeatsUnderTheirLocks(t *testing.T) {
	w := newTestWorkspace(t)
	worlds := []*testWorkspace{w, inWorkspace(t, w.DB, w.Workspace)}
	agents := make([]tenancy.Principal, 0, len(worlds))
	for i, one := range worlds {
		agents = append(agents, one.Agent(fmt.Sprint("claude-", i), func(r *fleet.Registration) { r.Factory.Name, r.Factory.Seats = "narrow", 1 }))
		one.Job("done")
		one.Complete(agents[i], one.Claim(agents[i]))
	}
	w.Job("one")
	w.Job("two")
	given := make([]int, len(worlds))
	var claims []func()
	for i, one := range worlds {
		claims = append(claims, func() {
			got, err := one.Dispatch.Claim(one.Ctx, agents[i], claim.Request{})
			if err != nil {
				t.Error(err)
			}
			given[i] = len(got.Jobs)
		})
	}
	w.meanwhile(`LOCK TABLE attempt IN ACCESS EXCLUSIVE MODE`, claims)
	if given[0]+given[1] != 1 {
		t.Errorf("%v jobs were given for one seat", given)
	}
	w.Consistent()
}
