package dispatch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// heldJobs are the statements that add n jobs that wait for a repo and n that wait for a place
// in review, as many changes of the counts of another workspace, as many hours of the queues of
// both, and a request for the seat of each running job.
func heldJobs(workspace, other ids.ID, n int) []string {
	return []string{
		fmt.Sprintf(`INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, repo, status, wait_reason, created_by)
			SELECT l.workspace_id, gen_random_uuid(), r || '-' || n || '-' || %[2]d, 'job', l.product_id, l.id, 'repo-' || n %% 50, 'waiting', r, 'test'
			FROM (SELECT * FROM lane WHERE workspace_id = '%[1]s' ORDER BY id LIMIT 1) l, generate_series(1, %[2]d) n,
				unnest(ARRAY['repo_busy', 'review_backlog']) r`, workspace, n),
		fmt.Sprintf(`INSERT INTO job_count_change (workspace_id, product_id, status, jobs)
			SELECT workspace_id, id, 'ready', 1 FROM product, generate_series(1, %d) n WHERE workspace_id = '%s'`, n, other),
		fmt.Sprintf(`INSERT INTO queue_hour (workspace_id, hour, kind, step, n)
			SELECT w, date_trunc('hour', now(), 'UTC') - make_interval(hours => n), 'ready', 0, 1
			FROM unnest(ARRAY['%s', '%s']::uuid[]) w, generate_series(1, %d) n ON CONFLICT DO NOTHING`, workspace, other, n),
		fmt.Sprintf(`INSERT INTO preemption (workspace_id, victim_id, victim_epoch, job_id, state, expires_at, percent)
			SELECT workspace_id, job_id, epoch, job_id, 'given', now(), -1 FROM job_lease WHERE workspace_id = '%s' ON CONFLICT DO NOTHING`, workspace),
	}
}

// assertLoops asserts how what the loops and the statistics ask is answered: by
// skipping from one workspace, lane or count to the next, where all that waits is
// looked at, of the jobs only that, and where all leases are, in one go.
func assertLoops(t *testing.T, d *db.DB, workspace ids.ID, when string) {
	t.Helper()
	q, ctx := dbsqlc.New(), t.Context()
	lane := int64(dbfactory.Int(t, d, `SELECT min(id) FROM lane WHERE workspace_id = $1`, workspace))
	lanes := make([]int64, 200) // as many as claims may wait for; only three have a job
	for i := range lanes {
		lanes[i] = lane + int64(i)
	}
	running, _ := ids.Parse(dbfactory.Text(t, d, `SELECT min(job_id::text) FROM job_lease WHERE workspace_id = $1`, workspace))
	var factories []ids.ID
	for text := range strings.SplitSeq(dbfactory.Text(t, d, `SELECT string_agg(id::text, ' ') FROM factory WHERE workspace_id = $1`, workspace), " ") {
		id, _ := ids.Parse(text)
		factories = append(factories, id)
	}
	for name, c := range map[string]struct {
		in  db.Scope
		ask func(*capture) error
		is  func(t *testing.T, name string, plan map[string]any)
	}{
		"lanes that are watched": {db.Workspace(workspace), func(c *capture) error {
			_, err := q.LanesReady(ctx, c, lanes, workspace)
			return err
		}, assertSkips},
		"newest lane": {db.Workspace(workspace), func(c *capture) error { _, err := q.LaneNewest(ctx, c, workspace); return err }, assertSkips},
		"held jobs":   {db.System, func(c *capture) error { _, err := q.JobHeldWorkspaces(ctx, c); return err }, assertSkips},
		"due jobs": {db.System, func(c *capture) error {
			_, err := q.JobDue(ctx, c, []string{"not_before", "retry_backoff"}, 200)
			return err
		}, assertSkips},
		"counts": {db.Workspace(workspace), func(c *capture) error { _, err := q.JobCountPerStatus(ctx, c, workspace); return err }, assertSkips},
		"where counts changed": {db.System, func(c *capture) error {
			_, err := q.JobCountWorkspaces(ctx, c)
			return err
		}, assertSkips},
		"summing up": {db.Workspace(workspace), func(c *capture) error {
			_, err := q.JobCountSettle(ctx, c, workspace, 10)
			return err
		}, assertSkips},
		"hours of the queue": {db.Workspace(workspace), func(c *capture) error {
			hours := make([]time.Time, 24)
			for i := range hours {
				hours[i] = time.Now().Truncate(time.Hour).Add(time.Duration(-i) * time.Hour)
			}
			_, err := q.QueueHours(ctx, c, hours, workspace)
			return err
		}, assertSkips},
		"demand of pools": {db.Workspace(workspace), func(c *capture) error {
			_, err := q.PoolQueue(ctx, c, workspace, 5000, 10_000)
			return err
		}, assertSkips},
		"longest ready": {db.Workspace(workspace), func(c *capture) error { _, err := q.JobReadySince(ctx, c, workspace); return err }, assertSkips},
		"freed by others": {db.Workspace(workspace), func(c *capture) error {
			_, err := q.JobDependencyFreed(ctx, c, workspace, 200)
			return err
		}, assertOnlyWhatWaits},
		"edges of cycles": {db.Workspace(workspace), func(c *capture) error {
			_, err := q.CycleEdges(ctx, c, 100_000, workspace)
			return err
		}, assertOnlyWhatWaits},
		"jobs for seats": {db.Workspace(workspace), func(c *capture) error {
			_, err := q.PreemptReady(ctx, c, workspace, 4, 10, 100)
			return err
		}, assertSkips},
		"requests for seats": {db.Workspace(workspace), func(c *capture) error {
			_, err := q.PreemptionsAsked(ctx, c, workspace, 500)
			return err
		}, assertSkips},
		"request for a seat": {db.Workspace(workspace), func(c *capture) error {
			_, err := q.PreemptionOfJob(ctx, c, workspace, running)
			return err
		}, assertSkips},
		"seats to ask for": {db.Workspace(workspace), func(c *capture) error {
			_, err := q.PreemptVictims(ctx, c, dbsqlc.PreemptVictimsParams{WorkspaceID: workspace, Factories: factories, MaxPriority: 10,
				MaxSilence: 60, SettledSeconds: 120, MaxRows: 500})
			return err
		}, assertByIndex},
		"lapsed leases": {db.Workspace(workspace), func(c *capture) error {
			_, err := q.LeaseLapsed(ctx, c, workspace, 5)
			return err
		}, assertOneGo},
		"where leases lapsed": {db.System, func(c *capture) error { _, err := q.LeaseLapsedWorkspaces(ctx, c); return err }, assertOneGo},
	} {
		asked := &capture{}
		if err := c.ask(asked); err != errCaptured { //nolint:errorlint // the sentinel itself
			t.Fatalf("%s: %v", name, err)
		}
		err := d.In(ctx, c.in, func(tx db.Tx) error {
			e := &explained{Tx: tx}
			if err := e.query(ctx, asked.sql, asked.args); err != nil {
				return err
			}
			c.is(t, name+", "+when, e.plan)
			return nil
		}, db.Thorough) // the plan of the usual statement, and all the time for it
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// mostSkipped is how many rows a question that skips may read and put into order:
// one of each lane and priority, or of each count.
const mostSkipped = 100

// assertSkips asserts that a plan reads no table from end to end and of each table
// a few rows, in however many looks.
func assertSkips(t *testing.T, name string, plan map[string]any) {
	t.Helper()
	for _, scan := range scansOf(plan) {
		relation, _ := scan["Relation Name"].(string)
		rows, _ := scan["Actual Rows"].(float64)
		loops, _ := scan["Actual Loops"].(float64)
		removed, _ := scan["Rows Removed by Filter"].(float64)
		if read := (rows + removed) * loops; read > mostSkipped {
			t.Errorf("%s: %s of %s reads %v rows (index %v)", name, scan["Node Type"], relation, read, scan["Index Name"])
		}
	}
	if n := sortedIn(plan); n > mostSkipped {
		t.Errorf("%s: the plan sorts %v rows", name, n)
	}
}

// assertByIndex asserts that a plan finds jobs, leases and requests by index.
func assertByIndex(t *testing.T, name string, plan map[string]any) {
	t.Helper()
	for _, scan := range scansOf(plan) {
		relation, _ := scan["Relation Name"].(string)
		if kind := fmt.Sprint(scan["Node Type"]); (tables[relation] || relation == "preemption") && kind == "Seq Scan" {
			t.Errorf("%s: %s of %s", name, kind, relation)
		}
	}
}

// sortedIn returns the largest number of rows that a part of a plan puts into order.
func sortedIn(node map[string]any) (most float64) {
	children, _ := node["Plans"].([]any)
	for _, child := range children {
		plan, _ := child.(map[string]any)
		if rows, _ := plan["Actual Rows"].(float64); strings.Contains(fmt.Sprint(node["Node Type"]), "Sort") {
			most = max(most, rows)
		}
		most = max(most, sortedIn(plan))
	}
	return most
}

// assertOnlyWhatWaits asserts that a plan that looks at all that waits finds it in
// its index, and by their ids what each waits for.
func assertOnlyWhatWaits(t *testing.T, name string, plan map[string]any) {
	t.Helper()
	const index = "job_waits"
	walked := false
	for _, scan := range scansOf(plan) {
		relation, _ := scan["Relation Name"].(string)
		kind, used := fmt.Sprint(scan["Node Type"]), fmt.Sprint(scan["Index Name"])
		walked = walked || used == index
		if tables[relation] && (!strings.Contains(kind, "Index") || used != index && !strings.HasSuffix(used, "_pkey")) {
			t.Errorf("%s: %s of %s by %s", name, kind, relation, used)
		}
		if rows, _ := scan["Actual Rows"].(float64); used != index && rows > 10 {
			t.Errorf("%s: %s of %s reads %v rows at a time", name, kind, relation, rows)
		}
	}
	if !walked {
		t.Errorf("%s: the index %s is not used", name, index)
	}
}

// assertOneGo asserts that a plan reads leases and agents once each, and not those of
// one for each of the other: a lease that has ended and cannot be removed yet is ten
// times as dear to look up as to pass by.
func assertOneGo(t *testing.T, name string, plan map[string]any) {
	t.Helper()
	leases := false
	for _, scan := range scansOf(plan) {
		leases = leases || scan["Relation Name"] == "job_lease"
		if loops, _ := scan["Actual Loops"].(float64); loops > 1 {
			t.Errorf("%s: %s of %s runs %v times", name, scan["Node Type"], scan["Relation Name"], loops)
		}
	}
	if !leases {
		t.Errorf("%s: no leases are read", name)
	}
}

// assertWholeCycles makes the job that all others wait for, by way of others, wait
// for one of them, and asserts that the edges between the two are found wherever
// the look at a part of what waits begins.
func assertWholeCycles(t *testing.T, d *db.DB, workspace ids.ID) {
	t.Helper()
	root, leaf := fmt.Sprint("waiting-1-", crowd), fmt.Sprint("waiting-2-", crowd)
	dbfactory.Exec(t, d, `INSERT INTO job_dependency (workspace_id, job_id, depends_on_id, created_by)
		SELECT a.workspace_id, a.id, b.id, 'test' FROM job a JOIN job b ON b.workspace_id = a.workspace_id AND b.key = $3
		WHERE a.workspace_id = $1 AND a.key = $2`, workspace, root, leaf)
	between := map[ids.ID]bool{}
	for _, key := range []string{root, leaf} {
		id, _ := ids.Parse(dbfactory.Text(t, d, `SELECT id::text FROM job WHERE workspace_id = $1 AND key = $2`, workspace, key))
		between[id] = true
	}
	for look := range 6 {
		found, edges := 0, 0
		err := d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) error {
			// It is about what is found; a busy machine may take longer than requests may.
			if _, err := tx.Exec(t.Context(), `SET LOCAL statement_timeout = '1min'`); err != nil {
				return err
			}
			rows, err := dbsqlc.New().CycleEdges(t.Context(), tx, 100_000, workspace)
			for _, r := range rows {
				if between[r.JobID] && between[r.DependsOnID] {
					found++
				}
			}
			edges = len(rows)
			return err
		})
		if err != nil || found != 2 {
			t.Errorf("look %d: %d edges of the cycle among %d, %v; want 2", look, found, edges, err)
		}
	}
}
