package coordinator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// someJobs writes jobs of each of the statuses, one statement for each.
func someJobs(t *testing.T, d *db.DB, workspace ids.ID, n int, statuses ...string) {
	t.Helper()
	dbfactory.Exec(t, d, `INSERT INTO lane (workspace_id, product_id, needs, digest)
		SELECT workspace_id, id, '{}', 'x' FROM product WHERE workspace_id = $1 ON CONFLICT DO NOTHING`, workspace)
	for _, status := range statuses {
		dbfactory.Exec(t, d, `INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, wait_reason, created_by, completed_at)
			SELECT l.workspace_id, gen_random_uuid(), gen_random_uuid(), 'x', l.product_id, l.id, $2::text,
				CASE $2 WHEN 'waiting' THEN 'repo_busy' ELSE '' END, 'x', now()
			FROM lane l, generate_series(1, $3) WHERE l.workspace_id = $1`, workspace, status, n)
	}
}

// counted returns what the counts say, and true is what there is.
func counted(t *testing.T, d *db.DB, workspace ids.ID) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	err := d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) error {
		rows, err := q.JobCountPerStatus(t.Context(), tx, workspace)
		for _, r := range rows {
			all[r.Status] += r.Jobs
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func wantCounts(t *testing.T, when string, got, want map[string]int64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %v; want %v", when, got, want)
	}
	for status, n := range want {
		if got[status] != n {
			t.Errorf("%s: %d jobs are %s; want %d", when, got[status], status, n)
		}
	}
}

// Numbers are right before they are summed up and after, and who sums up takes
// every change once, also where two do so.
func TestCountsAreSummedUp(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	one, other, empty := dbfactory.Workspace(t, d), dbfactory.Workspace(t, d), dbfactory.Workspace(t, d)
	someJobs(t, d, one, 3, "ready", "completed", "completed")
	someJobs(t, d, other, 2, "blocked")
	m := &term{Service: &Service{db: d}}
	wantCounts(t, "before", counted(t, d, one), map[string]int64{"ready": 3, "completed": 6})
	if n, err := m.sumUp(t.Context()); n != 4 || err != nil {
		t.Errorf("%d changes were summed up, %v; want 4", n, err)
	}
	wantCounts(t, "after", counted(t, d, one), map[string]int64{"ready": 3, "completed": 6})
	dbfactory.Exec(t, d, `UPDATE job SET status = 'completed' WHERE workspace_id = $1 AND status = 'ready'`, one)
	dbfactory.Exec(t, d, `UPDATE job SET title = 'y' WHERE workspace_id = $1`, one) // changes no number
	wantCounts(t, "changed", counted(t, d, one), map[string]int64{"completed": 9})
	if n, err := m.sumUp(t.Context()); n != 2 || err != nil {
		t.Errorf("%d changes were summed up, %v; want 2", n, err)
	}
	wantCounts(t, "another workspace", counted(t, d, other), map[string]int64{"blocked": 2})
	wantCounts(t, "an empty one", counted(t, d, empty), map[string]int64{})

	dbfactory.Exec(t, d, `INSERT INTO job_count_change (workspace_id, product_id, status, jobs)
		SELECT workspace_id, id, s, 1 FROM product, unnest(ARRAY['ready', 'failed', 'aborted']) s, generate_series(1, 4000) n WHERE workspace_id = $1`, one)
	var both errgroup.Group
	sums := make([]int, 2)
	for i := range sums {
		both.Go(func() (err error) {
			sums[i], err = m.sumUp(t.Context())
			return err
		})
	}
	err := both.Wait()
	last, again := m.sumUp(t.Context())
	if sum := sums[0] + sums[1] + last; sum != 12_000 || errors.Join(err, again) != nil {
		t.Errorf("two summed up %v and then one %d changes, %v; want 12,000 in all", sums, last, errors.Join(err, again))
	}
	wantCounts(t, "summed up by two", counted(t, d, one), map[string]int64{"completed": 9, "ready": 4000, "failed": 4000, "aborted": 4000})
	if n := dbfactory.Int(t, d, `SELECT count(*) FROM job_count_change`); n != 0 {
		t.Errorf("%d changes are left", n)
	}
}

// The job that is ready longest is found whatever its lane and its urgency.
func TestTheLongestReadyIsFound(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	since := func() (ready []dbsqlc.JobReadySinceRow) {
		t.Helper()
		err := d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) (err error) {
			ready, err = q.JobReadySince(t.Context(), tx, workspace)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return ready
	}
	if got := since(); len(got) != 0 {
		t.Errorf("nothing is ready: %v", got)
	}
	dbfactory.Exec(t, d, `INSERT INTO job_ready (workspace_id, lane_id, priority, ready_at, place, job_id)
		SELECT $1, 1 + n % 7 * 3, n % 11, at, at, gen_random_uuid()
		FROM (SELECT n, now() - make_interval(secs => hashint4(n) % 100000) AS at FROM generate_series(1, 400) n) n`, workspace)
	for left := 400; left > 0; left -= 25 {
		oldest := dbfactory.Text(t, d, `SELECT min(ready_at)::text FROM job_ready`)
		if n := dbfactory.Int(t, d, `SELECT count(*) FROM job_ready WHERE ready_at = $1 AND ready_at::text = $2`, since()[0].ReadyAt, oldest); n == 0 {
			t.Fatalf("with %d jobs: %s is not the oldest, that is %s", left, since()[0].ReadyAt, oldest)
		}
		dbfactory.Exec(t, d, `DELETE FROM job_ready WHERE job_id IN (SELECT job_id FROM job_ready ORDER BY ready_at LIMIT 25)`)
	}
}

// Which workspaces have something to do is found by skipping from one to the next.
func TestWorkspacesWithSomethingToDo(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	held, none := dbfactory.Workspace(t, d), dbfactory.Workspace(t, d)
	someJobs(t, d, held, 2, "waiting", "ready")
	someJobs(t, d, none, 2, "completed")
	last := dbfactory.Workspace(t, d)
	someJobs(t, d, last, 1, "waiting")
	for what, c := range map[string]struct {
		ask  func(context.Context, dbsqlc.DBTX) ([]ids.ID, error)
		want []ids.ID
	}{
		"held jobs": {q.JobHeldWorkspaces, []ids.ID{held, last}}, "counts": {q.JobCountWorkspaces, []ids.ID{held, none, last}},
	} {
		var got []ids.ID
		err := d.In(t.Context(), db.System, func(tx db.Tx) (err error) {
			got, err = c.ask(t.Context(), tx)
			return err
		})
		seen := map[ids.ID]bool{}
		for _, w := range got {
			seen[w] = true
		}
		for _, w := range c.want {
			if !seen[w] {
				t.Errorf("%s: %s is missing", what, w)
			}
		}
		if err != nil || len(got) != len(c.want) {
			t.Errorf("%s: %d workspaces, %v; want %d", what, len(got), err, len(c.want))
		}
	}
}

// A sweep that found nothing rests in proportion to what it took; one that found
// something, or failed at something, goes on at its pace.
func TestASweepTakesAHundredthOfTheTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls, found := 0, 0
		sweep := restingWhenIdle(func(context.Context) (int, error) {
			calls++
			<-time.After(2 * time.Second)
			return found, nil
		})
		after := func(d time.Duration, want int, when string) {
			t.Helper()
			<-time.After(d)
			if _, err := sweep(t.Context()); err != nil || calls != want {
				t.Errorf("%s: %d calls, %v; want %d", when, calls, err, want)
			}
		}
		after(0, 1, "at first")
		after(199*time.Second, 1, "while it rests")
		found = 7
		after(time.Second, 2, "rested")
		after(0, 3, "after it found something")
	})
}
