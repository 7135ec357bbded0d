package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// crowd is how many jobs of each kind stand around.
const crowd = 5_000

// Queries of links, of slots and of held jobs read no table from end to end,
// with statistics and without.
func TestThePlansOfLinksAndSlots(t *testing.T) {
	b := setupFilled(t, linkedJobs)
	b.assertPlans("no statistics")
	dbfactory.Exec(t, b.db, `ANALYZE`)
	b.assertPlans("fresh statistics")
}

// linkedJobs are the statements that add jobs that wait for a repo and for review, jobs in
// review and done, and a chain of links with the branches of a tree.
func linkedJobs(w, _ ids.ID) []string {
	return []string{
		`ALTER TABLE job SET (autovacuum_enabled = false); ALTER TABLE job_dependency SET (autovacuum_enabled = false)`,
		fmt.Sprintf(`INSERT INTO product (workspace_id, id, name, serialise, review_limit)
			SELECT '%s', gen_random_uuid(), 'p' || n, (ARRAY['none', 'repo', 'paths'])[1 + n %% 3], 1 + n %% 5 FROM generate_series(1, 20) n`, w),
		fmt.Sprintf(`INSERT INTO lane (workspace_id, product_id, needs, digest)
			SELECT '%s', id, '{}', sha256(uuid_send(id)) FROM product WHERE workspace_id = '%[1]s'`, w),
		fmt.Sprintf(`INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, repo, priority, status, wait_reason, created_by, completed_at)
			SELECT '%[1]s', gen_random_uuid(), k.status || k.reason || n, 'job', l.product_id, l.id, 'repo-' || n %% 50, n %% 11, k.status, k.reason, 'test',
				CASE WHEN k.status = 'completed' THEN now() END
			FROM generate_series(1, %[2]d) n
			CROSS JOIN (VALUES ('waiting', 'repo_busy'), ('waiting', 'paths_busy'), ('waiting', 'review_backlog'), ('completed', ''), ('in_review', '')) k (status, reason)
			JOIN (SELECT id, product_id, row_number() OVER (ORDER BY id) AS at FROM lane WHERE workspace_id = '%[1]s') l ON l.at = 1 + n %% 20
			WHERE k.reason <> 'paths_busy' OR n %% 50 = 0`, w, crowd),
		fmt.Sprintf(`INSERT INTO repo_slot (workspace_id, repo, job_id)
			SELECT DISTINCT ON (repo) workspace_id, repo, id FROM job WHERE workspace_id = '%s' AND status = 'in_review' ORDER BY repo, id`, w),
		fmt.Sprintf(`WITH j AS (SELECT id, row_number() OVER (ORDER BY id) AS at FROM job WHERE workspace_id = '%s' AND status = 'completed')
			INSERT INTO job_dependency (workspace_id, job_id, depends_on_id, type, created_by)
			SELECT '%[1]s', a.id, b.id, CASE WHEN b.at < a.at THEN 'parent' ELSE 'blocks' END, 'test'
			FROM j a JOIN j b ON b.at = a.at + 1 AND a.at %% 100 <> 0 OR b.at = a.at / 2 AND a.at %% 3 = 0`, w),
	}
}

func (b *bundle) assertPlans(when string) {
	b.t.Helper()
	ctx, w, q := b.t.Context(), b.who.Workspace, dbsqlc.New()
	some := func(sql string) ids.ID {
		id, _ := ids.Parse(dbfactory.Text(b.t, b.db, sql, w))
		return id
	}
	first := some(`SELECT id FROM job WHERE workspace_id = $1 AND status = 'completed' ORDER BY id LIMIT 1`)
	last := some(`SELECT id FROM job WHERE workspace_id = $1 AND status = 'completed' ORDER BY id OFFSET 50 LIMIT 1`)
	product := some(`SELECT id FROM product WHERE workspace_id = $1 AND name = 'p2'`)
	for name, ask := range map[string]func(dbsqlc.DBTX) error{
		"waits for": func(c dbsqlc.DBTX) error {
			_, err := q.JobWaitsFor(ctx, c, first, []ids.ID{last}, w)
			return err
		},
		"parents": func(c dbsqlc.DBTX) error {
			_, err := q.JobParentEdges(ctx, c, w, last)
			return err
		},
		"around": func(c dbsqlc.DBTX) error {
			_, err := q.JobAround(ctx, c, 101, last, w)
			return err
		},
		"links among": func(c dbsqlc.DBTX) error {
			_, err := q.JobLinksAmong(ctx, c, w, []ids.ID{first, last})
			return err
		},
		"open children": func(c dbsqlc.DBTX) error {
			_, err := q.JobOpenChildren(ctx, c, w, last, 20)
			return err
		},
		"held by repo": func(c dbsqlc.DBTX) error {
			_, err := q.HeldByRepo(ctx, c, w, "repo-7")
			return err
		},
		"held by review": func(c dbsqlc.DBTX) error {
			_, err := q.HeldByReview(ctx, c, w, product, 1)
			return err
		},
		"held freed": func(c dbsqlc.DBTX) error {
			_, err := q.HeldFreed(ctx, c, 200, w)
			return err
		},
		"held paths": func(c dbsqlc.DBTX) error {
			_, err := q.HeldPaths(ctx, c, []string{"repo-7", "repo-8"}, w, 50)
			return err
		},
		"repos of held paths": func(c dbsqlc.DBTX) error {
			_, err := q.HeldPathRepos(ctx, c, w)
			return err
		},
		"in review": func(c dbsqlc.DBTX) error {
			_, err := q.InReviewCount(ctx, c, w, product, 3)
			return err
		},
		"slots": func(c dbsqlc.DBTX) error {
			_, err := q.SlotList(ctx, c, w, []string{"repo-7", "repo-8"})
			return err
		},
		"surplus": func(c dbsqlc.DBTX) error {
			_, err := q.SlotSurplus(ctx, c, w, 200)
			return err
		},
	} {
		c := &capture{}
		if err := ask(c); !errors.Is(err, errCaptured) {
			b.t.Fatalf("%s: %v", name, err)
		}
		var plan []byte
		err := b.db.In(ctx, db.Workspace(w), func(tx db.Tx) error {
			return tx.QueryRow(ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+c.sql, c.args...).Scan(&plan)
		})
		if err != nil {
			b.t.Fatalf("%s: %v", name, err)
		}
		b.assertPlan(name+" with "+when, plan)
	}
}

// assertPlan refuses a scan of a table that grows, and more pages than a few jobs
// explain.
func (b *bundle) assertPlan(name string, raw []byte) {
	b.t.Helper()
	var plans []struct{ Plan map[string]any }
	if err := json.Unmarshal(raw, &plans); err != nil {
		b.t.Fatal(err)
	}
	var walk func(node map[string]any)
	walk = func(node map[string]any) {
		kind, table := fmt.Sprint(node["Node Type"]), fmt.Sprint(node["Relation Name"])
		if removed, _ := node["Rows Removed by Filter"].(float64); removed > 1000 {
			b.t.Errorf("%s: a %s of %s reads past %.0f rows", name, kind, table, removed)
		}
		if strings.Contains(kind, "Seq Scan") && (table == "job" || table == "job_dependency") {
			b.t.Errorf("%s: a %s of %s", name, kind, table)
		}
		children, _ := node["Plans"].([]any)
		for _, child := range children {
			walk(child.(map[string]any))
		}
	}
	walk(plans[0].Plan)
	if pages, _ := plans[0].Plan["Shared Hit Blocks"].(float64); pages > 6000 {
		b.t.Errorf("%s: %.0f pages are read", name, pages)
	}
}

var errCaptured = errors.New("captured")

// capture keeps a statement instead of running it.
type capture struct {
	sql  string
	args []any
}

func (c *capture) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	c.sql, c.args = sql, args
	return pgconn.CommandTag{}, errCaptured
}

func (c *capture) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	c.sql, c.args = sql, args
	return nil, errCaptured
}

func (c *capture) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	c.sql, c.args = sql, args
	return refusedRow{}
}

func (c *capture) SendBatch(context.Context, *pgx.Batch) pgx.BatchResults { return nil }

type refusedRow struct{}

func (refusedRow) Scan(...any) error { return errCaptured }
