package db_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Merges that were begun before orders had rows of their own merge exactly what was approved,
// as they were ordered; what is not approved any more, or was decided, is ordered by nothing.
func TestMergesOfBeforeKeepTheirOrders(t *testing.T) {
	t.Parallel()
	boss := dbtest.Owner(t, dbtest.New(t))
	name := "fleetboard_up_" + strings.ReplaceAll(ids.New().String(), "-", "")
	run := func(conn *pgx.Conn, statement string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), statement, args...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	run(boss, "CREATE ROLE "+name+" LOGIN CREATEROLE PASSWORD 'x'")
	run(boss, "GRANT fleetboard_app, fleetboard_system TO "+name+" WITH ADMIN OPTION")
	run(boss, "CREATE DATABASE "+name+" OWNER "+name)
	t.Cleanup(func() {
		for _, statement := range []string{"DROP DATABASE " + name + " WITH (FORCE)", "DROP ROLE " + name} {
			if _, err := boss.Exec(context.Background(), statement); err != nil {
				t.Errorf("%s: %v", statement, err)
			}
		}
	})
	owner := addressOf(t, boss, name, url.UserPassword(name, "x"))
	upTo(t, owner, 32)
	rows, err := pgx.Connect(t.Context(), addressOf(t, boss, name, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close(context.Background()) }()
	workspace, product := ids.New(), ids.New()
	run(rows, `INSERT INTO workspace (id, slug, name) VALUES ($1, 'w', 'W')`, workspace)
	run(rows, `INSERT INTO product (workspace_id, id, name, merge_into, merge_by) VALUES ($1, $2, 'default', 'later', 'worker')`, workspace, product)
	run(rows, `INSERT INTO lane (workspace_id, product_id, needs, digest) VALUES ($1, $2, '{repo:a}', sha256('x'))`, workspace, product)
	add := func(key, kind, status, head, input string) ids.ID {
		t.Helper()
		id := ids.New()
		run(rows, `INSERT INTO job (workspace_id, id, key, title, kind, product_id, repo, lane_id, status, approved_head, created_by)
			SELECT $1, $2, $3, $3, $4, $5, 'a', id, $6, $7, 'x' FROM lane`, workspace, id, key, kind, product, status, head)
		run(rows, `INSERT INTO job_text (workspace_id, job_id, input_context) VALUES ($1, $2, $3::jsonb)`, workspace, id, input)
		return id
	}
	merge := func(key, status, head, input, decided string) {
		t.Helper()
		work := add(key, "", status, head, `{}`)
		run(rows, `INSERT INTO job_merge (workspace_id, merge_job_id, job_id, decided_at) VALUES ($1, $2, $3, nullif($4, '')::timestamptz)`,
			workspace, add("M-"+key, "merge", "paused", "", input), work, decided)
	}
	told := `{"merge": {"job": "A", "commit": "abc", "branch": "fleet/A-e1", "into": "main", "method": "fast_forward", "checks": "make test"}}`
	merge("same", "approved", "abc", told, "")
	merge("by-forge", "approved", "abc", `{"merge": {"by": "pull_request", "commit": "abc", "url": "https://x.example"}}`, "")
	merge("other-head", "approved", "bcd", told, "")
	merge("in-review", "in_review", "", told, "")
	merge("decided", "approved", "abc", told, "2025-01-01")
	merge("no-input", "approved", "abc", `{}`, "")
	merge("odd", "approved", "abc", `{"merge": "abc"}`, "")
	if err := db.Migrate(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	var got string
	err = rows.QueryRow(t.Context(), `SELECT string_agg(concat_ws(' ', j.key, nullif(m.commit, ''), nullif(m.branch, ''), m.merge_by, m.method,
		nullif(m.into_branch, ''), nullif(m.checks, ''), nullif(m.url, '')), E'\n' ORDER BY j.key)
		FROM job_merge m JOIN job j ON j.id = m.job_id`).Scan(&got)
	want := `by-forge abc pull_request merge_commit https://x.example
decided worker merge_commit
in-review worker merge_commit
no-input worker merge_commit
odd worker merge_commit
other-head worker merge_commit
same abc fleet/A-e1 worker fast_forward main make test`
	if err != nil || got != want {
		t.Errorf("the orders are\n%s\nnot\n%s\n(%v)", got, want, err)
	}
}
