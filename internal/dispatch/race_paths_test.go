package dispatch_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// touching has a job declare files.
func touching(files ...string) func(*jobs.New) {
	return func(n *jobs.New) { n.Files = files }
}

// Two jobs whose files can be the same are never ready or worked on at once, whoever leaves
// them and whoever wants them at that moment; jobs with other files are not held up by them.
func TestRacesForPaths(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	promotes := takesBack("promote", func(w *testWorkspace, _ jobs.Job) (int, error) { return w.Dispatch.Promote(w.Ctx) })
	creates := func(name string, files ...string) racer {
		return racer{name, func(w *testWorkspace, _ tenancy.Principal, _ jobs.Job) error {
			_, err := w.Jobs.Create(w.Ctx, w.Owner, nil, jobs.New{Spec: jobs.Spec{Title: "new", Repo: "ledger-api", Files: files}, Priority: number(9)})
			return err
		}}
	}
	wide, narrow := creates("create for all", "**"), creates("create for one", "a/one.go")
	for _, c := range []struct{ one, other racer }{
		{completes, wide}, {completes, narrow}, {completes, promotes}, {releases, wide}, {cancels, narrow}, {completes, completes},
		{reclaims, wide}, {asks, promotes}, {wide, narrow}, {narrow, narrow}, {claims, wide}, {fails, claims},
	} {
		for _, hold := range []string{"job", "job_lease", "repo_slot"} {
			t.Run(c.one.name+" and "+c.other.name+", "+hold+" held", func(t *testing.T) {
				w := inWorkspace(t, d, dbfactory.Workspace(t, d))
				agent := w.Agent("claude-1")
				w.Product("atlas", jobs.ProductSettings{Serialise: jobs.SerialisePaths, Repos: []string{"ledger-api"}})
				w.Job("one", inRepo("ledger-api"), touching("a/*"), priority(8))
				held := w.Claim(agent)
				w.Job("next", inRepo("ledger-api"), touching("a/*", "b/*"))
				w.Job("dependent", inRepo("ledger-api"), touching("a/one.go"), dependsOn(held.Key))
				apart := w.Job("apart", inRepo("ledger-api"), touching("c/*"))
				w.Want(apart, jobs.Ready)
				errs := w.race(hold, agent, held, c.one, c.other)
				w.judge(errs, c.one, c.other)
				w.Consistent()
				w.noCollision()
				for range 2 {
					if _, err := w.Dispatch.Promote(w.Ctx); err != nil {
						t.Fatal(err)
					}
				}
				w.noCollision()
				if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job WHERE workspace_id = $1 AND status IN ('ready', 'assigned', 'running')`, w.Workspace); n == 0 {
					t.Error("no job is under way after the sweep")
				}
				w.Consistent()
			})
		}
	}
}

// noCollision asserts that of the jobs under way no two may touch one of the paths a and c.
func (w *testWorkspace) noCollision() {
	w.T.Helper()
	for _, folder := range []string{"a", "c"} {
		n := dbfactory.Int(w.T, w.DB, `SELECT count(*) FROM job WHERE workspace_id = $1 AND status IN ('ready', 'assigned', 'running')
			AND EXISTS (SELECT FROM unnest(files) f WHERE f = '**' OR f LIKE $2 || '/%')`, w.Workspace, folder)
		if n > 1 {
			w.T.Errorf("%d jobs that may touch %s are under way", n, folder)
		}
	}
	if n := dbfactory.Int(w.T, w.DB, `SELECT count(*) FROM job j LEFT JOIN repo_slot s ON s.job_id = j.id
		WHERE j.workspace_id = $1 AND j.repo <> '' AND (j.status IN ('ready', 'assigned', 'running')) <> (s.job_id IS NOT NULL)`, w.Workspace); n > 0 {
		w.T.Errorf("%d jobs have a slot and are not under way, or have none and are", n)
	}
}

// However a job leaves its paths, all that waited for them and exclude each other no more come
// next, without a sweep.
func TestFreedPathsGoToTheNextJobs(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Product("atlas", jobs.ProductSettings{Serialise: jobs.SerialisePaths, Repos: []string{"ledger-api"}})
	w.Job("first", inRepo("ledger-api"), touching("a", "b"))
	held := w.Claim(agent)
	one, two := w.Job("one", inRepo("ledger-api"), touching("a/x"), priority(3)), w.Job("two", inRepo("ledger-api"), touching("b"), priority(2))
	late := w.Job("late", inRepo("ledger-api"), touching("a"), priority(1))
	if now := w.Want(one, jobs.Waiting); now.WaitReason != jobs.WaitPathsBusy {
		t.Fatalf("it waits for %s", now.WaitReason)
	}
	w.Complete(agent, held)
	w.Want(one, jobs.Ready)
	w.Want(two, jobs.Ready)
	w.Want(late, jobs.Waiting)
	// One that waits keeps those from its paths that came later; once it is gone they come.
	w.Act(one, jobs.ByCancel)
	w.Want(late, jobs.Ready)
	w.Consistent()
	for range 2 {
		w.Complete(agent, w.Claim(agent))
	}
	w.Consistent()
}
