package dispatch_test

import (
	"slices"
	"strings"
	"testing"

	"fleetboard/db"
	"fleetboard/db/dbfactory"
	"fleetboard/db/dbsqlc"
	"fleetboard/db/dbtest"
	"fleetboard/internal/ids"
)

// What heartbeats and reports ask finds its rows by their ids, whatever else the
// workspace holds and whatever the statistics say. Of job_lease, which holds no
// more rows than the fleet has seats, that is asked with fresh statistics only.
func TestThePlansOfHeartbeatsAndReports(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	fill(t, d, workspace, 100)
	dbfactory.Exec(t, d, `ANALYZE`)
	fill(t, d, workspace, crowd/5)
	assertTogether(t, d, workspace, "statistics of a small table", "job_lease")
	dbfactory.Exec(t, d, `ANALYZE`)
	assertTogether(t, d, workspace, "fresh statistics")
	dbfactory.Exec(t, d, `DELETE FROM pg_statistic;
		UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relnamespace = 'public'::regnamespace AND relkind = 'r';
		UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE relnamespace = 'public'::regnamespace AND relkind = 'i'`)
	assertTogether(t, d, workspace, "no statistics", "job_lease")
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
				Generations: []int64{0, 0}, Statuses: []string{"idle", "idle"}, MemoryMb: []int32{-1, -1}, CpuPercent: []float32{-1, -1}})
			return err
		},
		"reporting agents": func(c *capture) error {
			_, err := q.AgentsOfReports(ctx, c, dbsqlc.AgentsOfReportsParams{WorkspaceID: workspace, Ids: agents})
			return err
		},
		"leases that are held": func(c *capture) error {
			_, err := q.LeasesHold(ctx, c, dbsqlc.LeasesHoldParams{WorkspaceID: workspace, JobIds: list, AgentIds: agents})
			return err
		},
		"reports": func(c *capture) error {
			_, err := q.LeasesReport(ctx, c, dbsqlc.LeasesReportParams{WorkspaceID: workspace, JobIds: list, Epochs: []int64{1, 1}, AgentIds: agents,
				TtlSeconds: []int32{0, 0}, ProgressPercents: []int32{1, 1}, Steps: []string{"", ""}, TellsStep: []bool{false, false}, IsProgress: []bool{true, true}})
			return err
		},
		"jobs by name": func(c *capture) error {
			_, err := q.JobIDs(ctx, c, dbsqlc.JobIDsParams{WorkspaceID: workspace, Keys: []string{"running-20-100"}, Ids: list})
			return err
		},
	} {
		c := &capture{}
		if err := ask(c); err != errCaptured { //nolint:errorlint // the sentinel itself
			t.Fatalf("%s: %v", name, err)
		}
		err := d.InWorkspace(ctx, workspace, func(tx db.Tx) error {
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

// scansOf are the nodes of a plan that read a table.
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
