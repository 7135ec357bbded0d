package dispatch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/jobs"
)

// Whatever the coordinator has done, two may do at once: each job is changed by
// one of them, with one event, and the other finds nothing left to do.
func TestEachSweepIsSafeTwice(t *testing.T) {
	const many = 8
	for _, c := range []struct {
		name  string
		sweep func(w *world, ctx context.Context) (int, error)
		// prepare makes many jobs that the sweep changes.
		prepare func(w *world)
		event   string
		status  jobs.Status
	}{
		{"reap", func(w *world, ctx context.Context) (int, error) { return w.dispatch.Reap(ctx) }, func(w *world) {
			w.leased(many)
			dbfactory.Exec(w.t, w.db, `UPDATE job_lease SET expires_at = clock_timestamp() - interval '1 second'`)
		}, "job.lost", jobs.Ready},
		{"warn", func(w *world, ctx context.Context) (int, error) { return w.dispatch.Warn(ctx) }, func(w *world) {
			w.leased(many)
			dbfactory.Exec(w.t, w.db, `UPDATE job_lease SET claimed_at = clock_timestamp() - interval '1 hour'`)
		}, "job.warned", jobs.Assigned},
		{"time out", func(w *world, ctx context.Context) (int, error) { return w.dispatch.TimeOut(ctx) }, func(w *world) {
			w.leased(many)
			dbfactory.Exec(w.t, w.db, `UPDATE job_lease SET directive = 'warn', warned_at = clock_timestamp() - interval '11 minutes'`)
		}, "job.timed_out", jobs.Ready},
		{"promote", func(w *world, ctx context.Context) (int, error) { return w.dispatch.Promote(ctx) }, func(w *world) {
			for i := range many {
				w.job(fmt.Sprint(i), func(n *jobs.New) { n.NotBefore = number(time.Now().Add(time.Hour)) })
			}
			dbfactory.Exec(w.t, w.db, `UPDATE job SET not_before = clock_timestamp()`)
		}, "job.promoted", jobs.Ready},
		{"promote what a repo held", func(w *world, ctx context.Context) (int, error) { return w.dispatch.Promote(ctx) }, func(w *world) {
			repos := make([]string, many)
			for i := range repos {
				repos[i] = fmt.Sprint("repo-", i)
			}
			w.product("atlas", jobs.ProductSettings{OneJobPerRepo: true, Repos: repos})
			for _, repo := range repos {
				w.job("first", inRepo(repo))
				w.job("held", inRepo(repo))
			}
			dbfactory.Exec(w.t, w.db, `WITH gone AS (DELETE FROM repo_slot RETURNING job_id) DELETE FROM job USING gone WHERE id = gone.job_id`)
		}, "job.promoted", jobs.Ready},
		{"sweep dependencies", func(w *world, ctx context.Context) (int, error) { return w.dispatch.SweepDependencies(ctx) }, func(w *world) {
			first := w.job("first")
			for i := range many {
				w.job(fmt.Sprint(i), dependsOn(first.Key))
			}
			dbfactory.Exec(w.t, w.db, `WITH gone AS (DELETE FROM job_dependency) DELETE FROM job WHERE id = $1`, first.ID)
		}, "job.promoted", jobs.Ready},
		{"fail cycles", func(w *world, ctx context.Context) (int, error) { return w.dispatch.FailCycles(ctx) }, func(w *world) {
			root := w.job("root")
			for range many / 2 {
				w.entangle(w.job("a", dependsOn(root.Key)), w.job("b", dependsOn(root.Key)))
			}
			dbfactory.Exec(w.t, w.db, `DELETE FROM job WHERE id = $1`, root.ID)
		}, "job.failed", jobs.Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			one := newWorld(t)
			c.prepare(one)
			// Another process on the same database.
			two := inWorkspace(t, one.db, one.workspace)
			var sums [4]int
			var all sync.WaitGroup
			for i := range sums {
				w := []*world{one, two}[i%2]
				all.Go(func() {
					for range 3 {
						n, err := c.sweep(w, w.ctx)
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
			if n := dbfactory.Int(t, one.db, `SELECT count(*) FROM event WHERE type = $1 AND job_id IS NOT NULL`, c.event); n != many {
				t.Errorf("%d events %s; want %d", n, c.event, many)
			}
			if n := dbfactory.Int(t, one.db, `SELECT count(*) FROM job WHERE status = $1`, string(c.status)); n != many {
				t.Errorf("%d jobs are %s; want %d", n, c.status, many)
			}
			one.consistent()
		})
	}
}

// leased makes jobs with an estimate that one agent holds.
func (w *world) leased(n int) {
	w.t.Helper()
	agent := w.agent("claude-1")
	for i := range n {
		w.job(fmt.Sprint(i), estimate(20))
		w.claim(agent)
	}
}

// Two that hold back what a product does not allow any more leave one ready job
// in each repo, and hold each other one once.
func TestTwoMayHoldTheSurplusAtOnce(t *testing.T) {
	one := newWorld(t)
	const repos = 6
	names := make([]string, repos)
	for i := range names {
		names[i] = fmt.Sprint("repo-", i)
	}
	one.product("atlas", jobs.ProductSettings{Repos: names})
	for _, repo := range names {
		for i := range 3 {
			one.job(fmt.Sprint(i), inRepo(repo))
		}
	}
	// The setting comes without the work that its change does at once.
	dbfactory.Exec(t, one.db, `UPDATE product SET one_job_per_repo = true WHERE name = 'atlas'`)
	two := inWorkspace(t, one.db, one.workspace)
	var all sync.WaitGroup
	for _, w := range []*world{one, two, one, two} {
		all.Go(func() {
			if _, err := w.dispatch.SweepDependencies(w.ctx); err != nil {
				t.Errorf("sweep: %v", err)
			}
		})
	}
	all.Wait()
	if _, err := one.dispatch.SweepDependencies(one.ctx); err != nil {
		t.Fatal(err)
	}
	for what, sql := range map[string]string{
		"ready jobs":                   `SELECT abs(count(*) - 6)::int FROM job WHERE status = 'ready'`,
		"repos with another number":    `SELECT count(*)::int FROM (SELECT repo FROM job WHERE status = 'ready' GROUP BY repo HAVING count(*) <> 1) x`,
		"slots":                        `SELECT abs(count(*) - 6)::int FROM repo_slot`,
		"jobs that were held not once": `SELECT abs(count(*) - 12)::int FROM event WHERE type = 'job.held'`,
	} {
		if n := dbfactory.Int(t, one.db, sql); n != 0 {
			t.Errorf("%s: off by %d", what, n)
		}
	}
	one.consistent()
}
