package dispatch_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Two jobs of one repo are never ready or worked on at once, whoever frees the
// repo and whoever wants it at that moment.
func TestRacesForARepo(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	promotes := takesBack("promote", func(w *testWorkspace, _ jobs.Job) (int, error) { return w.Dispatch.Promote(w.Ctx) })
	creates := racer{"create", func(w *testWorkspace, _ tenancy.Principal, _ jobs.Job) error {
		_, err := w.Jobs.Create(w.Ctx, w.Owner, nil, jobs.New{Spec: jobs.Spec{Title: "new", Repo: "ledger-api"}, Priority: number(9)})
		return err
	}}
	for _, c := range []struct{ one, other racer }{
		{completes, creates}, {completes, promotes}, {releases, creates}, {cancels, creates}, {completes, completes},
		{reclaims, creates}, {asks, promotes}, {creates, creates}, {claims, creates}, {fails, claims},
	} {
		for _, hold := range []string{"job", "job_lease", "repo_slot"} {
			t.Run(c.one.name+" and "+c.other.name+", "+hold+" held", func(t *testing.T) {
				w := inWorkspace(t, d, dbfactory.Workspace(t, d))
				agent := w.Agent("claude-1")
				w.Product("atlas", jobs.ProductSettings{Serialise: jobs.SerialiseRepo, Repos: []string{"ledger-api"}})
				w.Job("one", inRepo("ledger-api"))
				held := w.Claim(agent)
				w.Job("next", inRepo("ledger-api"))
				w.Job("dependent", inRepo("ledger-api"), dependsOn(held.Key))
				errs := w.race(hold, agent, held, c.one, c.other)
				w.judge(errs, c.one, c.other)
				w.Consistent()
				w.onePerRepo()
				if _, err := w.Dispatch.Promote(w.Ctx); err != nil {
					t.Fatal(err)
				}
				w.onePerRepo()
				if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job WHERE workspace_id = $1 AND status IN ('ready', 'assigned', 'running')`, w.Workspace); n != 1 {
					t.Errorf("%d jobs of the repo are under way after the sweep; want 1", n)
				}
				w.Consistent()
			})
		}
	}
}

// onePerRepo asserts that no repo has two jobs under way.
func (w *testWorkspace) onePerRepo() {
	w.T.Helper()
	n := dbfactory.Int(w.T, w.DB, `SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM job WHERE workspace_id = $1
		AND status IN ('ready', 'assigned', 'running') GROUP BY repo) r`, w.Workspace)
	if n > 1 {
		w.T.Errorf("%d jobs of one repo are under way", n)
	}
}

// Completions that make jobs of two repos ready, in both orders, and claims of
// those repos beside them.
func TestRacesForTwoRepos(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1", func(r *fleet.Registration) { r.Factory.Repos = []fleet.Repo{{Name: "a"}, {Name: "b"}} })
	w.Product("atlas", jobs.ProductSettings{Serialise: jobs.SerialiseRepo, Repos: []string{"a", "b"}})
	const rounds = 10
	for range rounds {
		one, two := w.Job("one", priority(9)), w.Job("two", priority(9))
		first, second := w.Claim(agent), w.Claim(agent)
		w.Job("a then b", inRepo("a"), dependsOn(one.Key))
		w.Job("b", inRepo("b"), dependsOn(one.Key))
		w.Job("b then a", inRepo("b"), dependsOn(two.Key))
		w.Job("a", inRepo("a"), dependsOn(two.Key))
		errs := w.race("job_lease", agent, first, completes, racer{"complete the other", func(w *testWorkspace, a tenancy.Principal, _ jobs.Job) error {
			return completes.run(w, a, second)
		}}, claims)
		w.judge(errs, completes, completes, claims)
		for n := 1; n > 0; {
			w.onePerRepo()
			got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Max: 10})
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range held(w) {
				w.Complete(agent, j)
			}
			if n, err = w.Dispatch.Promote(w.Ctx); err != nil {
				t.Fatal(err)
			}
			n += len(got.Jobs)
		}
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job WHERE status <> 'completed'`); n != 0 {
		t.Errorf("%d jobs are left", n)
	}
	w.Consistent()
}

// held returns the jobs that somebody works on.
func held(w *testWorkspace) []jobs.Job {
	w.T.Helper()
	list, _, err := w.Jobs.List(w.Ctx, w.Owner, jobs.Filter{Statuses: []jobs.Status{jobs.Assigned, jobs.Running}, Limit: 200})
	if err != nil {
		w.T.Fatal(err)
	}
	return list
}

// A batch that depends on a job and on what waits for it, while that job is
// completed: the batch is made, and waits for exactly what is open then.
func TestACreationBesideACompletion(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	for _, hold := range []string{"job", "job_lease"} {
		t.Run(hold+" held", func(t *testing.T) {
			w := inWorkspace(t, d, dbfactory.Workspace(t, d))
			agent := w.Agent("claude-1")
			// The one that waits is older than the one that it waits for.
			made, err := w.Jobs.Create(w.Ctx, w.Owner, nil, jobs.New{Spec: jobs.Spec{Title: "waits", DependsOn: []string{"FIRST"}},
				Key: "WAITS"}, jobs.New{Spec: jobs.Spec{Title: "first"}, Key: "FIRST"})
			if err != nil {
				t.Fatal(err)
			}
			running := w.Claim(agent)
			creates := racer{"create", func(w *testWorkspace, _ tenancy.Principal, _ jobs.Job) error {
				_, err := w.Jobs.Create(w.Ctx, w.Owner, nil, jobs.New{Spec: jobs.Spec{Title: "new", DependsOn: []string{"WAITS",
					"FIRST"}}, Key: "LATER"})
				return err
			}}
			errs := w.race(hold, agent, running, completes, creates)
			if won := w.judge(errs, completes, creates); won != 2 {
				t.Errorf("%d had their way: %v", won, errs)
			}
			w.Want(made.Jobs[0], jobs.Ready)
			w.Want(jobs.Job{Key: "LATER"}, jobs.Waiting)
			w.Consistent()
		})
	}
}
