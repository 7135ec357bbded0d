package jobs_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// Each order of a list, and the attempts of an agent, walk an index and put only a
// page into order, with statistics and without.
func TestThePlansOfLists(t *testing.T) {
	b := setupFilled(t, func(w, other ids.ID) []string {
		return slices.Concat([]string{
			`ALTER TABLE attempt SET (autovacuum_enabled = false)`,
			fmt.Sprintf(`INSERT INTO lane (workspace_id, product_id, needs, digest)
				SELECT workspace_id, id, '{}', sha256('few') FROM product WHERE workspace_id = '%s'`, w),
			fmt.Sprintf(`INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, created_by, ready_at)
				SELECT workspace_id, gen_random_uuid(), 'few-' || n, 'a few', product_id, id, 'ready', 'test', now()
				FROM lane, generate_series(1, 2) n WHERE workspace_id = '%s'`, w),
			`ANALYZE`,
		}, linkedJobs(w, other), []string{
			fmt.Sprintf(`INSERT INTO attempt (workspace_id, job_id, epoch, agent_id, agent, factory, claimed_at, outcome, ended_at)
				SELECT workspace_id, id, e, md5('agent-' || abs(hashtext(id::text)) %% 4)::uuid, 'agent', 'desk', now() + e * interval '1 minute',
					'failed', now()
				FROM job, generate_series(1, 2) e WHERE workspace_id = '%s'`, w),
			`INSERT INTO job_usage SELECT workspace_id, job_id, epoch, 1, 0, 0, 0, 0, 5, 0, 0, 5 FROM attempt`,
		})
	})
	b.assertLists("statistics of small tables")
	dbfactory.Exec(t, b.db, `ANALYZE`)
	b.assertLists("fresh statistics")
	dbfactory.Exec(t, b.db, `DELETE FROM pg_statistic;
		UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relnamespace = 'public'::regnamespace AND relkind = 'r';
		UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE relnamespace = 'public'::regnamespace AND relkind = 'i'`)
	b.assertLists("no statistics")
}

func (b *bundle) assertLists(when string) {
	b.t.Helper()
	ctx, w, q := b.t.Context(), b.who.Workspace, dbsqlc.New()
	middle, _ := ids.Parse(dbfactory.Text(b.t, b.db, `SELECT id::text FROM job WHERE workspace_id = $1 ORDER BY id OFFSET 9000 LIMIT 1`, w))
	const page = 51
	list := func(sort jobs.Sort, change func(p *dbsqlc.JobPlacesParams)) {
		for _, start := range []bool{true, false} {
			p := dbsqlc.JobPlacesParams{WorkspaceID: w, Sort: string(sort), Within: !start, Statuses: []string{}, Keys: []string{}, MaxRows: page,
				AfterID: middle, AfterAt: time.Now(), AfterPriority: 6}
			if start {
				p.AfterAt, p.AfterID, p.AfterPriority = time.Now().AddDate(100, 0, 0), ids.Max, 11
			}
			change(&p)
			c := &capture{}
			_, _ = q.JobPlaces(ctx, c, p)
			b.assertWalk(fmt.Sprintf("%s %s with %s, start %t", sort, p.Status, when, start), c, p.MaxRows)
		}
	}
	agent := b.agent("agent-2")
	all := func(*dbsqlc.JobPlacesParams) {}
	list(jobs.SortCreated, all)
	list(jobs.SortAge, all)
	if when != "no statistics" { // then it is a walk, as with other filters
		keys := strings.Fields(dbfactory.Text(b.t, b.db, `SELECT string_agg(key, ' ') FROM (
			SELECT key FROM job WHERE workspace_id = $1 ORDER BY md5(id::text) LIMIT 50) k`, w))
		list(jobs.SortAge, func(p *dbsqlc.JobPlacesParams) { p.Keys = keys })
	}
	list(jobs.SortUpdated, all)
	list(jobs.SortUpdated, func(p *dbsqlc.JobPlacesParams) { p.UpdatedSince = &time.Time{} })
	list(jobs.SortCost, func(p *dbsqlc.JobPlacesParams) { p.MaxRows = jobs.MaxSortedByCost + 1 })
	for _, status := range jobs.Statuses {
		if !status.Finished() {
			list(jobs.SortPriority, func(p *dbsqlc.JobPlacesParams) {
				p.Status, p.Statuses = string(status), []string{string(status), "ready"}
			})
		}
	}
	for outcome, before := range map[string]time.Time{"": time.Now().AddDate(100, 0, 0), "failed": time.Now()} {
		c := &capture{}
		_, _ = q.AttemptsOfAgent(ctx, c, dbsqlc.AttemptsOfAgentParams{WorkspaceID: w, AgentID: &agent, Outcome: outcome, BeforeAt: before,
			BeforeJob: middle, BeforeEpoch: 1, MaxRows: page})
		b.assertWalk(fmt.Sprintf("attempts of outcome %q with %s", outcome, when), c, page)
	}
}

// assertWalk refuses a plan that reads much more than a page of a large table, or
// puts as much into order.
func (b *bundle) assertWalk(name string, c *capture, page int) {
	b.t.Helper()
	var raw []byte
	err := b.db.In(b.t.Context(), db.Workspace(b.who.Workspace), func(tx db.Tx) error {
		return tx.QueryRow(b.t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+c.sql, c.args...).Scan(&raw)
	}, db.Snapshot, db.PlanAnew)
	if err != nil {
		b.t.Fatalf("%s: %v", name, err)
	}
	var plans []struct{ Plan map[string]any }
	if err := json.Unmarshal(raw, &plans); err != nil {
		b.t.Fatal(err)
	}
	large := map[string]bool{"job": true, "attempt": true, "job_usage": true}
	var walk func(node map[string]any)
	walk = func(node map[string]any) {
		number := func(of string) float64 { n, _ := node[of].(float64); return n }
		if read := (number("Actual Rows") + number("Rows Removed by Filter")) * number("Actual Loops"); read > float64(3*page) {
			b.t.Errorf("%s: a %v of %v goes through %.0f rows (index %v)", name, node["Node Type"], node["Relation Name"], read, node["Index Name"])
		}
		if table, _ := node["Relation Name"].(string); large[table] && node["Node Type"] == "Seq Scan" {
			b.t.Errorf("%s: a Seq Scan of %s", name, table)
		}
		children, _ := node["Plans"].([]any)
		for _, child := range children {
			walk(child.(map[string]any))
		}
	}
	walk(plans[0].Plan)
}
