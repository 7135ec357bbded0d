package dispatch_test

import (
	"fmt"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// However a job leaves its repo, the most urgent one that waits for it comes next,
// without a sweep.
func TestAFreedRepoGoesToTheNextJob(t *testing.T) {
	for name, leave := range map[string]func(w *testWorkspace, agent tenancy.Principal, held jobs.Job){
		"completed": func(w *testWorkspace, a tenancy.Principal, held jobs.Job) { w.Complete(a, held) },
		"failed": func(w *testWorkspace, a tenancy.Principal, held jobs.Job) {
			if _, err := w.Dispatch.Fail(w.Ctx, a, ref(held), report.Failure{Error: "x"}); err != nil {
				w.T.Fatal(err)
			}
		},
		"asked": func(w *testWorkspace, a tenancy.Principal, held jobs.Job) {
			if _, err := w.Dispatch.Ask(w.Ctx, a, ref(held), report.Question{Text: "Which?"}); err != nil {
				w.T.Fatal(err)
			}
		},
		"paused": func(w *testWorkspace, a tenancy.Principal, held jobs.Job) {
			w.Act(held, jobs.ByPause)
			if _, err := w.Dispatch.Release(w.Ctx, a, ref(held), report.Release{}); err != nil {
				w.T.Fatal(err)
			}
		},
		"blocked once it was given back": func(w *testWorkspace, a tenancy.Principal, held jobs.Job) {
			if _, err := w.Dispatch.Release(w.Ctx, a, ref(held), report.Release{}); err != nil {
				w.T.Fatal(err)
			}
			w.Act(held, jobs.ByBlock)
		},
		"lost for good": func(w *testWorkspace, _ tenancy.Principal, held jobs.Job) {
			dbfactory.Exec(w.T, w.DB, `UPDATE job SET lost_count = max_lost WHERE id = $1`, held.ID)
			w.Expire(held)
			if n, err := w.Dispatch.Reap(w.Ctx); n != 1 || err != nil {
				w.T.Fatalf("reap = %d, %v", n, err)
			}
		},
		"paused and its agent started again": func(w *testWorkspace, a tenancy.Principal, held jobs.Job) {
			w.Act(held, jobs.ByPause)
			if err := reboots.run(w, a, held); err != nil {
				w.T.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorkspace(t)
			agent := w.Agent("claude-1")
			w.Product("atlas", jobs.ProductSettings{Serialise: jobs.SerialiseRepo, Repos: []string{"ledger-api"}})
			w.Job("first", inRepo("ledger-api"))
			held := w.Claim(agent)
			later, next := w.Job("later", inRepo("ledger-api"), priority(3)), w.Job("next", inRepo("ledger-api"), priority(4))
			if now := w.Want(next, jobs.Waiting); now.WaitReason != jobs.WaitRepoBusy {
				t.Fatalf("it waits for %s", now.WaitReason)
			}
			leave(w, agent, held)
			w.Want(next, jobs.Ready)
			w.Want(later, jobs.Waiting)
			w.Consistent()
		})
	}
}

// A place in the review queue goes to the most urgent job that waits for one; the
// sweep lets in the rest, which the claims then hold back.
func TestAFreedReviewPlaceGoesToTheNextJob(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Product("atlas", jobs.ProductSettings{ReviewRequired: true, ReviewLimit: number(1)})
	w.Job("first", inProduct("atlas"))
	first := w.Claim(agent)
	w.Complete(agent, first)
	later, next := w.Job("later", inProduct("atlas"), priority(3)), w.Job("next", inProduct("atlas"), priority(4))
	if now := w.Want(next, jobs.Waiting); now.WaitReason != jobs.WaitReviewBacklog {
		t.Fatalf("it waits for %s", now.WaitReason)
	}
	if n, err := w.Dispatch.Promote(w.Ctx); n != 0 || err != nil {
		t.Fatalf("promote = %d, %v; the queue is full", n, err)
	}
	w.Act(first, jobs.ByApprove)
	w.Want(next, jobs.Ready)
	w.Want(later, jobs.Waiting)
	if n, err := w.Dispatch.Promote(w.Ctx); n != 1 || err != nil {
		t.Fatalf("promote = %d, %v", n, err)
	}
	w.Want(later, jobs.Ready)
	w.Consistent()
}

// What nobody noticed the sweep finds, in every workspace.
func TestTheSweepFindsFreedRepos(t *testing.T) {
	w := newTestWorkspace(t)
	other := inWorkspace(t, w.DB, dbfactory.Workspace(t, w.DB))
	for _, one := range []*testWorkspace{w, other} {
		one.Product("atlas", jobs.ProductSettings{Serialise: jobs.SerialiseRepo, Repos: []string{"ledger-api"}})
		for i := range 3 {
			one.Job(fmt.Sprint(i), inRepo("ledger-api"))
		}
	}
	dbfactory.Exec(t, w.DB, `WITH gone AS (DELETE FROM repo_slot RETURNING job_id) DELETE FROM job USING gone WHERE id = gone.job_id`)
	if n, err := w.Dispatch.Promote(w.Ctx); n != 2 || err != nil {
		t.Fatalf("promote = %d, %v; want one of each workspace", n, err)
	}
	if n, err := w.Dispatch.Promote(w.Ctx); n != 0 || err != nil {
		t.Fatalf("promote again = %d, %v", n, err)
	}
	w.Consistent()
}
