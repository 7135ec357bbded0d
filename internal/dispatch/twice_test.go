package dispatch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// Whatever the coordinator has done, two may do at once: each job is changed by
// one of them, with one event, and the other finds nothing left to do.
func TestEachSweepIsSafeTwice(t *testing.T) {
	const many = 8
	for _, c := range []struct {
		name  string
		sweep func(w *testWorkspace, ctx context.Context) (int, error)
		// prepare makes many jobs that the sweep changes.
		prepare func(w *testWorkspace)
		event   string
		status  jobs.Status
	}{
		{"reap", func(w *testWorkspace, ctx context.Context) (int, error) { return w.Dispatch.Reap(ctx) }, func(w *testWorkspace) {
			w.leased(many)
			dbfactory.Exec(w.T, w.DB, `UPDATE job_lease SET expires_at = clock_timestamp() - interval '1 second'`)
		}, "job.lost", jobs.Ready},
		{"warn", func(w *testWorkspace, ctx context.Context) (int, error) { return w.Dispatch.Warn(ctx) }, func(w *testWorkspace) {
			w.leased(many)
			dbfactory.Exec(w.T, w.DB, `UPDATE job_lease SET claimed_at = clock_timestamp() - interval '1 hour'`)
		}, "job.warned", jobs.Assigned},
		{"time out", func(w *testWorkspace, ctx context.Context) (int, error) { return w.Dispatch.TimeOut(ctx) }, func(w *testWorkspace) {
			w.leased(many)
			dbfactory.Exec(w.T, w.DB, `UPDATE job_lease SET directive = 'warn', warned_at = clock_timestamp() - interval '11 minutes'`)
		}, "job.timed_out", jobs.Ready},
		{"promote", func(w *testWorkspace, ctx context.Context) (int, error) { return w.Dispatch.Promote(ctx) }, func(w *testWorkspace) {
			for i := range many {
				w.Job(fmt.Sprint(i), func(n *jobs.New) { n.NotBefore = number(time.Now().Add(time.Hour)) })
			}
			dbfactory.Exec(w.T, w.DB, `UPDATE job SET not_before = clock_timestamp()`)
		}, "job.promoted", jobs.Ready},
		{"promote what a repo held", func(w *testWorkspace, ctx context.Context) (int, error) { return w.Dispatch.Promote(ctx) }, func(w *testWorkspace) {
			repos := make([]string, many)
			for i := range repos {
				repos[i] = fmt.Sprint("repo-", i)
			}
			w.Product("atlas", jobs.ProductSettings{Serialise: jobs.SerialiseRepo, Repos: repos})
			for _, repo := range repos {
				w.Job("first", inRepo(repo))
				w.Job("held", inRepo(repo))
			}
			dbfactory.Exec(w.T, w.DB, `WITH gone AS (DELETE FROM repo_slot RETURNING job_id) DELETE FROM job USING gone WHERE id = gone.job_id`)
		}, "job.promoted", jobs.Ready},
		{"sweep dependencies", func(w *testWorkspace, ctx context.Context) (int, error) { return w.Dispatch.SweepDependencies(ctx) }, func(w *testWorkspace) {
			first := w.Job("first")
			for i := range many {
				w.Job(fmt.Sprint(i), dependsOn(first.Key))
			}
			dbfactory.Exec(w.T, w.DB, `WITH gone AS (DELETE FROM job_dependency) DELETE FROM job WHERE id = $1`, first.ID)
		}, "job.promoted", jobs.Ready},
		{"fail cycles", func(w *testWorkspace, ctx context.Context) (int, error) { return w.Dispatch.FailCycles(ctx) }, func(w *testWorkspace) {
			root := w.Job("root")
			for range many / 2 {
				w.entangle(w.Job("a", dependsOn(root.Key)), w.Job("b", dependsOn(root.Key)))
			}
			dbfactory.Exec(w.T, w.DB, `DELETE FROM job WHERE id = $1`, root.ID)
		}, "job.failed", jobs.Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			one := newTestWorkspace(t)
			c.prepare(one)
			// Another process on the same database.
			two := inWorkspace(t, one.DB, one.Workspace)
			var sums [4]int
			var all sync.WaitGroup
			for i := range sums {
				w := []*testWorkspace{one, two}[i%2]
				all.Go(func() {
					for range 3 {
						n, err := c.sweep(w, w.Ctx)
						if sums[i] += n; err != nil {
							t.Errorf("%s: %v", c.name, err)
						}
					}
				})
			}
			all.Wait()
			if n := sums[0] + sums[1] + sums[2] + sums[3]; n != many {
				t.Errorf("together they changed %d; want %d", n, many)
			}
			if n := dbfactory.Int(t, one.DB, `SELECT count(*) FROM event WHERE type = $1 AND job_id IS NOT NULL`, c.event); n != many {
				t.Errorf("%d events %s; want %d", n, c.event, many)
			}
			if n := dbfactory.Int(t, one.DB, `SELECT count(*) FROM job WHERE status = $1`, string(c.status)); n != many {
				t.Errorf("%d jobs are %s; want %d", n, c.status, many)
			}
			one.Consistent()
		})
	}
}

// leased makes jobs with an estimate that one agent holds.
func (w *testWorkspace) leased(n int) {
	w.T.Helper()
	agent := w.Agent("claude-1")
	for i := range n {
		w.Job(fmt.Sprint(i), estimate(20))
		w.Claim(agent)
	}
}

// Two that hold back what a product does not allow any more leave one ready job
// in each repo, and hold each other one once.
func TestTwoMayHoldTheSurplusAtOnce(t *testing.T) {
	one := newTestWorkspace(t)
	const repos = 6
	names := make([]string, repos)
	for i := range names {
		names[i] = fmt.Sprint("repo-", i)
	}
	one.Product("atlas", jobs.ProductSettings{Repos: names})
	for _, repo := range names {
		for i := range 3 {
			one.Job(fmt.Sprint(i), inRepo(repo))
		}
	}
	// The setting comes without the work that its change does at once.
	dbfactory.Exec(t, one.DB, `UPDATE product SET serialise = 'repo' WHERE name = 'atlas'`)
	two := inWorkspace(t, one.DB, one.Workspace)
	var all sync.WaitGroup
	for _, w := range []*testWorkspace{one, two, one, two} {
		all.Go(func() {
			if _, err := w.Dispatch.SweepDependencies(w.Ctx); err != nil {
				t.Errorf("sweep: %v", err)
			}
		})
	}
	all.Wait()
	if _, err := one.Dispatch.SweepDependencies(one.Ctx); err != nil {
		t.Fatal(err)
	}
	for what, sql := range map[string]string{
		"ready jobs":                   `SELECT abs(count(*) - 6)::int FROM job WHERE status = 'ready'`,
		"repos with another number":    `SELECT count(*)::int FROM (SELECT repo FROM job WHERE status = 'ready' GROUP BY repo HAVING count(*) <> 1) x`,
		"slots":                        `SELECT abs(count(*) - 6)::int FROM repo_slot`,
		"jobs that were held not once": `SELECT abs(count(*) - 12)::int FROM event WHERE type = 'job.held'`,
	} {
		if n := dbfactory.Int(t, one.DB, sql); n != 0 {
			t.Errorf("%s: off by %d", what, n)
		}
	}
	one.Consistent()
}
