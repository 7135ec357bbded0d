package dispatch_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"fleetboard/db/dbtest"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// hopeful is an agent that has just ended a job, so that its next claim locks first.
func (w *world) hopeful(change ...func(*fleet.Registration)) tenancy.Principal {
	w.t.Helper()
	agent := w.agent("claude-1", change...)
	w.job("done")
	w.complete(agent, w.claim(agent))
	return agent
}

// meanwhile runs a statement in a transaction of its own and then the claims. When
// each of them waits for a lock or has ended it runs the rest, and commits.
func (w *world) meanwhile(first string, claims []func(), then ...string) {
	w.t.Helper()
	conn := dbtest.Owner(w.t, w.db)
	tx, err := conn.Begin(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(w.ctx)) }()
	exec := func(sql string) {
		w.t.Helper()
		if _, err := tx.Exec(w.ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			w.t.Fatal(err)
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
	if err := tx.Commit(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	for _, one := range done {
		<-one
	}
}

// A job that somebody is taking at this moment is nobody else's, however sure a
// claim was of it.
func TestAClaimPassesOverAJobThatIsBeingTaken(t *testing.T) {
	for name, agentOf := range map[string]func(*world) tenancy.Principal{
		"at first":          func(w *world) tenancy.Principal { return w.agent("claude-1") },
		"after another one": func(w *world) tenancy.Principal { return w.hopeful() },
		"with all its seats": func(w *world) tenancy.Principal {
			return w.hopeful(func(r *fleet.Registration) { r.MaxConcurrentJobs = 1 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			agent := agentOf(w)
			first, second := w.job("first", priority(9)), w.job("second")
			w.meanwhile(`SELECT FROM job_ready WHERE job_id = '`+first.ID.String()+`' FOR UPDATE`, []func(){func() {
				if got := w.claim(agent); got.Key != second.Key {
					t.Errorf("claimed %s; want the second, %s", got.Key, second.Key)
				}
			}})
			w.want(first, jobs.Ready)
			w.consistent()
		})
	}
}

// Where the only job is being taken, and is not in the end, it is still there.
func TestAClaimOfAJobThatIsBeingTakenFindsNothing(t *testing.T) {
	w := newWorld(t)
	agent := w.hopeful()
	only := w.job("only")
	w.meanwhile(`SELECT FROM job_ready FOR UPDATE`, []func(){func() { w.nothing(agent, dispatch.ReasonEmpty) }})
	w.consistent()
	if got := w.claim(agent); got.Key != only.Key {
		t.Errorf("claimed %s; want %s", got.Key, only.Key)
	}
}

// A job that gets other needs after a claim has seen it, and before it is taken, is
// not given to whoever cannot do it. The claim reads products behind the heads of the
// lanes.
func TestAClaimDoesNotGetAJobThatHasLeftItsLane(t *testing.T) {
	w := newWorld(t)
	agent := w.hopeful()
	moving := w.job("moving")
	elsewhere := w.job("elsewhere", needs("engine:codex"))
	w.meanwhile(`LOCK TABLE product IN ACCESS EXCLUSIVE MODE`, []func(){func() { w.nothing(agent, dispatch.ReasonEmpty) }},
		`UPDATE job_ready SET lane_id = (SELECT lane_id FROM job WHERE id = '`+elsewhere.ID.String()+`')`,
		`UPDATE job SET lane_id = (SELECT lane_id FROM job WHERE id = '`+elsewhere.ID.String()+`') WHERE id = '`+moving.ID.String()+`'`)
	w.want(moving, jobs.Ready)
	w.consistent()
}

// Two agents of two processes that both hope for the factory's one free seat: one
// gets it. Neither can write before both have counted, or wait to.
func TestHopefulClaimsCountSeatsUnderTheirLocks(t *testing.T) {
	w := newWorld(t)
	worlds := []*world{w, inWorkspace(t, w.db, w.workspace)}
	agents := make([]tenancy.Principal, 0, len(worlds))
	for i, one := range worlds {
		agents = append(agents, one.agent(fmt.Sprint("claude-", i), func(r *fleet.Registration) { r.Factory.Name, r.Factory.Seats = "narrow", 1 }))
		one.job("done")
		one.complete(agents[i], one.claim(agents[i]))
	}
	w.job("one")
	w.job("two")
	given := make([]int, len(worlds))
	var claims []func()
	for i, one := range worlds {
		claims = append(claims, func() {
			got, err := one.dispatch.Claim(one.ctx, agents[i], dispatch.ClaimRequest{})
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
	w.consistent()
}
