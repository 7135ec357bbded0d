package dispatch_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// The statements of a report of usage find their rows by their keys, however many entries,
// sums and attempts there are, and whatever the statistics say of them.
func TestThePlansOfUsage(t *testing.T) {
	t.Parallel()
	d, workspace := dbfactory.Filled(t, func(workspace, _ ids.ID) []string {
		return slices.Concat([]string{noVacuum, `ALTER TABLE usage_entry SET (autovacuum_enabled = false);
			ALTER TABLE job_usage SET (autovacuum_enabled = false)`}, jobsAround(workspace, 100), usageAround(workspace), []string{`ANALYZE`},
			jobsAround(workspace, crowd/10), usageAround(workspace))
	})
	assertUsage(t, d, workspace, "statistics of small tables")
	dbfactory.Exec(t, d, `ANALYZE`)
	assertUsage(t, d, workspace, "fresh statistics")
	forgetStatistics(t, d)
	assertUsage(t, d, workspace, "no statistics")
	believeNoLeases(t, d)
	assertUsage(t, d, workspace, "no leases a moment ago")
}

// usageAround are the statements that add an attempt with its sums and some entries for each job
// that has none.
func usageAround(workspace ids.ID) []string {
	var list []string
	for _, sql := range []string{
		`INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory)
			SELECT workspace_id, id, 1, 'ada', 'desk' FROM job WHERE workspace_id = '%s' ON CONFLICT DO NOTHING`,
		`INSERT INTO job_usage SELECT workspace_id, id, 1, 3, 0, 0, 0, 0, 0, 0 FROM job WHERE workspace_id = '%s' ON CONFLICT DO NOTHING`,
		`INSERT INTO usage_hour SELECT workspace_id, '2026-11-21T10:00:00Z', id, 1, 'p', 'm', product_id, '', '', 'ada', 'desk', 3,
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM job WHERE workspace_id = '%s' ON CONFLICT DO NOTHING`,
		`INSERT INTO usage_entry
			SELECT workspace_id, key || '-' || n, id, 1, id, product_id, 'p', 'm', '', 0, 0, 0, 0, NULL, '', now() FROM job, generate_series(1, 3) n
			WHERE workspace_id = '%s' ON CONFLICT DO NOTHING`,
	} {
		list = append(list, fmt.Sprintf(sql, workspace))
	}
	return list
}

func assertUsage(t *testing.T, d *db.DB, workspace ids.ID, when string) {
	t.Helper()
	q, ctx := dbsqlc.New(), t.Context()
	job, _ := ids.Parse(dbfactory.Text(t, d, `SELECT min(job_id::text) FROM job_usage WHERE workspace_id = $1`, workspace))
	other, _ := ids.Parse(dbfactory.Text(t, d, `SELECT max(job_id::text) FROM job_usage WHERE workspace_id = $1`, workspace))
	list, ones := []ids.ID{job, other}, []int64{1, 1}
	told := dbfactory.Text(t, d, `SELECT min(id) FROM usage_entry WHERE workspace_id = $1`, workspace)
	tellers, _ := ids.Parse(dbfactory.Text(t, d, `SELECT min(job_id::text) FROM usage_entry WHERE id = $1`, told))
	for name, ask := range map[string]func(*capture) error{
		"leases": func(c *capture) error {
			_, err := q.UsageLeases(ctx, c, workspace, true, list, ones)
			return err
		},
		"entries": func(c *capture) error {
			jobs, ones, at := []ids.ID{job}, []int64{1}, []time.Time{time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
			_, err := q.UsageInsert(ctx, c, dbsqlc.UsageInsertParams{WorkspaceID: workspace, Ids: []string{when}, JobIds: jobs, Epochs: ones,
				AgentIds: jobs, ProductIds: jobs, Providers: []string{"p"}, Models: []string{"m"}, ProviderSessions: []string{""},
				InputTokens: ones, OutputTokens: ones, CacheReadTokens: ones, CacheWriteTokens: ones, CacheWrite1hTokens: ones,
				ReportedNanos: []int64{-1}, PriceIds: []int64{0}, ComputedNanos: []int64{-1}, ChargedNanos: ones, Lates: []bool{false},
				Operations: []string{""}, Ats: at, BookedAts: at, Batches: []bool{false}})
			return err
		},
		"sums": func(c *capture) error {
			return q.UsageSum(ctx, c, workspace, []byte(fmt.Sprintf(
				`[{"job_id": %q, "epoch": 1, "hour": "2026-11-21T10:00:00Z", "provider": "p", "model": "m", "product_id": %q, "phase": "", "repo": "",
				"agent": "ada", "factory": "desk", "entries": 1, "unpriced": 0, "input_tokens": 1, "output_tokens": 1, "cache_read_tokens": 1,
				"cache_write_tokens": 1, "cache_write_1h_tokens": 1, "charged_nanos": 1, "computed_nanos": 1, "reported_nanos": 1,
				"imputed_nanos": 0, "unpriced_tokens": 0}]`, job, job)))
		},
		"raise": func(c *capture) error {
			return q.UsageRaise(ctx, c, workspace, []byte(fmt.Sprintf(
				`[{"id": %q, "job_id": %q, "epoch": 1, "agent_id": %q, "product_id": %q, "provider": "p", "model": "m", "input_tokens": 2,
				"output_tokens": 1, "cache_read_tokens": 1, "cache_write_tokens": 1, "cache_write_1h_tokens": 1, "charged_nanos": 1}]`,
				told, tellers, job, job)))
		},
		"booked": func(c *capture) error {
			_, err := q.UsageBooked(ctx, c, list, ones, workspace)
			return err
		},
		"entries that are there": func(c *capture) error {
			_, err := q.UsageLock(ctx, c, []ids.ID{tellers, job}, []string{told, "none"}, workspace)
			return err
		},
		"a job's": func(c *capture) error {
			_, err := q.UsageOfJob(ctx, c, workspace, job)
			return err
		},
		"leases' sums": func(c *capture) error {
			_, err := q.UsageOfLeases(ctx, c, list, ones, workspace)
			return err
		},
	} {
		c := &capture{}
		_ = ask(c) // it only captures how the statement reads
		if c.sql == "" {
			t.Fatalf("%s: nothing was asked", name)
		}
		err := d.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			e := &explained{Tx: tx}
			if err := e.query(ctx, c.sql, c.args); err != nil {
				return err
			}
			for _, scan := range scansOf(e.plan) {
				removed, _ := scan["Rows Removed by Filter"].(float64)
				rows, _ := scan["Actual Rows"].(float64)
				if table := scan["Relation Name"]; rows+removed > 10 || scan["Node Type"] == "Seq Scan" && (table == "usage_entry" || table == "job_usage") {
					t.Errorf("%s, %s: %v on %v reads %v rows and throws %v away", name, when, scan["Node Type"], table, rows, removed)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}
