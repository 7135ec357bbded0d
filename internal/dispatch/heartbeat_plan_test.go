package dispatch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// What heartbeats and reports ask finds its rows by their ids, whatever else the
// workspace holds and whatever the statistics say: also of the leases, where there
// are so many that reading all of them would be felt.
func TestThePlansOfHeartbeatsAndReports(t *testing.T) {
	t.Parallel()
	d, workspace := dbfactory.Filled(t, func(workspace, _ ids.ID) []string {
		return slices.Concat([]string{noVacuum}, jobsAround(workspace, 100), []string{`ANALYZE`}, jobsAround(workspace, crowd/5),
			leasesAround(workspace, 2000, 5))
	})
	assertTogether(t, d, workspace, "statistics of a small table")
	dbfactory.Exec(t, d, `ANALYZE`)
	assertTogether(t, d, workspace, "fresh statistics")
	forgetStatistics(t, d)
	assertTogether(t, d, workspace, "no statistics")
	believeNoLeases(t, d)
	assertTogether(t, d, workspace, "no leases a moment ago")
}

// leasesAround are the statements that add agents that each hold some leases.
func leasesAround(workspace ids.ID, agents, each int) []string {
	return []string{
		fmt.Sprintf(`INSERT INTO agent (workspace_id, id, factory_id, name, boot_id)
			SELECT workspace_id, gen_random_uuid(), id, 'fleet-' || n, 'b'
			FROM (SELECT * FROM factory WHERE workspace_id = '%s' LIMIT 1) f, generate_series(1, %d) n`, workspace, agents),
		fmt.Sprintf(`WITH made AS (
				INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, created_by)
				SELECT l.workspace_id, gen_random_uuid(), 'fleet-' || n, 'job', l.product_id, l.id, 'running', 'test'
				FROM (SELECT * FROM lane WHERE workspace_id = '%s' ORDER BY id LIMIT 1) l, generate_series(1, %d) n
				RETURNING workspace_id, id, key)
			INSERT INTO job_lease (workspace_id, job_id, epoch, agent_id, factory_id, ttl_seconds, expires_at)
			SELECT m.workspace_id, m.id, 1, a.id, a.factory_id, 900, now() + interval '30 days'
			FROM made m JOIN agent a ON a.workspace_id = m.workspace_id AND a.name = 'fleet-' || 1 + substr(m.key, 7)::int %% %d`,
			workspace, agents*each, agents),
	}
}

func assertTogether(t *testing.T, d *db.DB, workspace ids.ID, when string, but ...string) {
	t.Helper()
	q, ctx := dbsqlc.New(), t.Context()
	var agents, list []ids.ID
	for n := range 2 {
		row := strings.Fields(dbfactory.Text(t, d, `SELECT job_id || ' ' || agent_id FROM (
			SELECT DISTINCT ON (agent_id) job_id, agent_id FROM job_lease WHERE workspace_id = $1 ORDER BY agent_id, job_id) l
			ORDER BY agent_id OFFSET $2 LIMIT 1`, workspace, n))
		job, _ := ids.Parse(row[0])
		agent, _ := ids.Parse(row[1])
		list, agents = append(list, job), append(agents, agent)
	}
	for name, ask := range map[string]func(*capture) error{
		"heartbeats": func(c *capture) error {
			_, err := q.AgentsBeat(ctx, c, dbsqlc.AgentsBeatParams{WorkspaceID: workspace, Ids: agents, BootIds: []string{"b", "b"},
				Generations: []int64{0, 0}, Statuses: []string{"idle", "idle"}, MemoryMb: []int{-1, -1}, CpuPercent: []float32{-1, -1}})
			return err
		},
		"callers": func(c *capture) error {
			_, err := q.AgentsTouch(ctx, c, agents, []string{"b", "b"}, []int64{0, 0}, workspace)
			return err
		},
		"leases that are locked": func(c *capture) error {
			_, err := q.LeasesLock(ctx, c, agents, workspace, list)
			return err
		},
		"reports": func(c *capture) error {
			_, err := q.LeasesReport(ctx, c, dbsqlc.LeasesReportParams{WorkspaceID: workspace, JobIds: list, Epochs: []int64{1, 1}, AgentIds: agents,
				TtlSeconds: []int{0, 0}, ProgressPercents: []int{1, 1}, Steps: []string{"", ""}, TellsStep: []bool{false, false}, IsProgress: []bool{true, true},
				Checkpoints: []string{"", ""}, Touches: []bool{false, true}})
			return err
		},
		"jobs that are waited for": func(c *capture) error {
			return q.JobsWait(ctx, c, workspace, list, agents[0])
		},
		"leases that are waited for": func(c *capture) error {
			return q.LeasesWait(ctx, c, workspace, agents[0], false, list)
		},
		"leases of an agent that are waited for": func(c *capture) error {
			return q.LeasesWait(ctx, c, workspace, agents[0], true, nil)
		},
		"jobs by name": func(c *capture) error {
			_, err := q.JobIDs(ctx, c, workspace, []string{"running-20-100"}, list)
			return err
		},
	} {
		c := &capture{}
		if err := ask(c); err != errCaptured { //nolint:errorlint // the sentinel itself
			t.Fatalf("%s: %v", name, err)
		}
		err := d.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			e := &explained{Tx: tx}
			if err := e.query(ctx, c.sql, c.args); err != nil {
				return err
			}
			assertByIDs(t, name+", "+when, e.plan, but...)
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// assertByIDs asserts that a plan reads no table from end to end and throws hardly
// any row away.
func assertByIDs(t *testing.T, name string, plan map[string]any, but ...string) {
	t.Helper()
	for _, scan := range scansOf(plan) {
		relation, _ := scan["Relation Name"].(string)
		if !tables[relation] || slices.Contains(but, relation) {
			continue
		}
		removed, _ := scan["Rows Removed by Filter"].(float64)
		if rows, _ := scan["Actual Rows"].(float64); scan["Node Type"] == "Seq Scan" && rows+removed > 10 || removed > 10 {
			t.Errorf("%s: %s on %s threw %v rows away (index %v)", name, scan["Node Type"], relation, removed, scan["Index Name"])
		}
	}
}

// scansOf returns the nodes of a plan that read a table.
func scansOf(node map[string]any) []map[string]any {
	var list []map[string]any
	if _, ok := node["Relation Name"].(string); ok {
		list = append(list, node)
	}
	children, _ := node["Plans"].([]any)
	for _, child := range children {
		if plan, ok := child.(map[string]any); ok {
			list = append(list, scansOf(plan)...)
		}
	}
	return list
}
