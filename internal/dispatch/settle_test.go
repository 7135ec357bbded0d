package dispatch_test

import (
	"fmt"
	"testing"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// However a job leaves its repo, the most urgent one that waits for it comes next,
// without a sweep.
func TestAFreedRepoGoesToTheNextJob(t *testing.T) {
	for name, leave := range map[string]func(w *world, agent tenancy.Principal, held jobs.Job){
		"completed": func(w *world, a tenancy.Principal, held jobs.Job) { w.complete(a, held) },
		"failed": func(w *world, a tenancy.Principal, held jobs.Job) {
			if _, err := w.dispatch.Fail(w.ctx, a, ref(held), dispatch.Failure{Error: "x"}); err != nil {
				w.t.Fatal(err)
			}
		},
		"asked": func(w *world, a tenancy.Principal, held jobs.Job) {
			if _, err := w.dispatch.Ask(w.ctx, a, ref(held), "Which?", nil); err != nil {
				w.t.Fatal(err)
			}
		},
		"paused": func(w *world, a tenancy.Principal, held jobs.Job) {
			w.act(held, jobs.ByPause)
			if _, err := w.dispatch.Release(w.ctx, a, ref(held), "", nil); err != nil {
				w.t.Fatal(err)
			}
		},
		"blocked once it was given back": func(w *world, a tenancy.Principal, held jobs.Job) {
			if _, err := w.dispatch.Release(w.ctx, a, ref(held), "", nil); err != nil {
				w.t.Fatal(err)
			}
			w.act(held, jobs.ByBlock)
		},
		"lost for good": func(w *world, _ tenancy.Principal, held jobs.Job) {
			dbfactory.Exec(w.t, w.db, `UPDATE job SET lost_count = max_lost WHERE id = $1`, held.ID)
			w.expire(held)
			if n, err := w.dispatch.Reap(w.ctx); n != 1 || err != nil {
				w.t.Fatalf("reap = %d, %v", n, err)
			}
		},
		"paused and its agent started again": func(w *world, a tenancy.Principal, held jobs.Job) {
			w.act(held, jobs.ByPause)
			if err := reboots.run(w, a, held); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			agent := w.agent("claude-1")
			w.product("atlas", jobs.ProductSettings{OneJobPerRepo: true, Repos: []string{"ledger-api"}})
			w.job("first", inRepo("ledger-api"))
			held := w.claim(agent)
			later, next := w.job("later", inRepo("ledger-api"), priority(3)), w.job("next", inRepo("ledger-api"), priority(4))
			if now := w.want(next, jobs.Waiting); now.WaitReason != jobs.WaitRepoBusy {
				t.Fatalf("it waits for %s", now.WaitReason)
			}
			leave(w, agent, held)
			w.want(next, jobs.Ready)
			w.want(later, jobs.Waiting)
			w.consistent()
		})
	}
}

// A place in the review queue goes to the most urgent job that waits for one; the
// sweep lets in the rest, which the claims then hold back.
func TestAFreedReviewPlaceGoesToTheNextJob(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	w.product("atlas", jobs.ProductSettings{ReviewRequired: true, ReviewLimit: number(1)})
	w.job("first", inProduct("atlas"))
	first := w.claim(agent)
	w.complete(agent, first)
	later, next := w.job("later", inProduct("atlas"), priority(3)), w.job("next", inProduct("atlas"), priority(4))
	if now := w.want(next, jobs.Waiting); now.WaitReason != jobs.WaitReviewBacklog {
		t.Fatalf("it waits for %s", now.WaitReason)
	}
	if n, err := w.dispatch.Promote(w.ctx); n != 0 || err != nil {
		t.Fatalf("promote = %d, %v; the queue is full", n, err)
	}
	w.act(first, jobs.ByApprove)
	w.want(next, jobs.Ready)
	w.want(later, jobs.Waiting)
	if n, err := w.dispatch.Promote(w.ctx); n != 1 || err != nil {
		t.Fatalf("promote = %d, %v", n, err)
	}
	w.want(later, jobs.Ready)
	w.consistent()
}

// What nobody noticed the sweep finds, in every workspace.
func TestTheSweepFindsFreedRepos(t *testing.T) {
	w := newWorld(t)
	other := inWorkspace(t, w.db, dbfactory.Workspace(t, w.db))
	for _, one := range []*world{w, other} {
		one.product("atlas", jobs.ProductSettings{OneJobPerRepo: true, Repos: []string{"ledger-api"}})
		for i := range 3 {
			one.job(fmt.Sprint(i), inRepo("ledger-api"))
		}
	}
	dbfactory.Exec(t, w.db, `WITH gone AS (DELETE FROM repo_slot RETURNING job_id) DELETE FROM job USING gone WHERE id = gone.job_id`)
	if n, err := w.dispatch.Promote(w.ctx); n != 2 || err != nil {
		t.Fatalf("promote = %d, %v; want one of each workspace", n, err)
	}
	if n, err := w.dispatch.Promote(w.ctx); n != 0 || err != nil {
		t.Fatalf("promote again = %d, %v", n, err)
	}
	w.consistent()
}
