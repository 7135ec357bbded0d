package db_test

import (
	"context"
	"database/sql"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver that migrations run with
	"github.com/pressly/goose/v3"

	"fleetboard/db"
	"fleetboard/db/dbtest"
	"fleetboard/db/schema"
	"fleetboard/internal/ids"
)

// baseline is the last file of the schema that the first release begins with.
const baseline = 14

// A database with jobs in it is brought up to date also by an owner that is no
// superuser: policies that are forced on it hide its rows from it.
func TestAnOwnerWithoutPrivilegesMigratesRows(t *testing.T) {
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
	upTo(t, owner, baseline)

	rows, err := pgx.Connect(t.Context(), addressOf(t, boss, name, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close(context.Background()) }()
	workspace, product, job := ids.New(), ids.New(), ids.New()
	run(rows, `INSERT INTO workspace (id, slug, name) VALUES ($1, 'w', 'W')`, workspace)
	run(rows, `INSERT INTO product (workspace_id, id, name) VALUES ($1, $2, 'default')`, workspace, product)
	run(rows, `INSERT INTO lane (workspace_id, product_id, needs, digest) VALUES ($1, $2, '{os:linux}', sha256('x'))`, workspace, product)
	run(rows, `INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, created_by)
		SELECT $1, $2, 'FB-1', 'old', $3, id, 'ready', 'Mara' FROM lane`, workspace, job, product)
	run(rows, `INSERT INTO job_ready (workspace_id, lane_id, priority, ready_at, job_id)
		SELECT workspace_id, lane_id, priority, now(), id FROM job`)
	run(rows, `INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory) SELECT workspace_id, id, 1, 'ada', 'desk' FROM job`)
	run(rows, `INSERT INTO usage_entry (workspace_id, id, job_id, epoch, agent_id, product_id, provider, model, provider_session, input_tokens,
			output_tokens, cache_read_tokens, cache_write_tokens, cost_nanos, operation, at)
		SELECT workspace_id, 'm-' || n, id, 1, id, product_id, 'p', 'm', '', 10, 5, 0, 0, CASE n WHEN 1 THEN 700 END, '', now()
		FROM job, generate_series(1, 2) n`)
	run(rows, `INSERT INTO job_usage SELECT workspace_id, id, 1, 2, 20, 10, 0, 0, 700, 1 FROM job`)

	if err := db.Migrate(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	var foreign string
	err = rows.QueryRow(t.Context(), `SELECT coalesce(string_agg(format('%s on %s for %s', p.polname, p.polrelid::regclass, r.rolname), ', '), '')
		FROM pg_policy p JOIN pg_roles r ON r.oid = ANY(p.polroles)
		WHERE r.rolname NOT IN ('fleetboard_app', 'fleetboard_system', $1)`, name).Scan(&foreign)
	if err != nil || foreign != "" {
		t.Errorf("policies for others than the owner and the two roles: %s (%v)", foreign, err)
	}
	checkUsage(t, rows)
	var lanes, fitting, open, counted int
	err = rows.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM lane),
		(SELECT count(*) FROM job j JOIN lane l ON l.id = j.lane_id AND l.product_id = j.product_id
			JOIN job_ready r ON r.job_id = j.id AND r.lane_id = l.id),
		(SELECT count(*) FROM pg_class WHERE relrowsecurity AND NOT relforcerowsecurity),
		(SELECT sum(jobs) FROM job_count_change WHERE status = 'ready')`).Scan(&lanes, &fitting, &open, &counted)
	if err != nil || lanes != 1 || fitting != 1 || open != 0 || counted != 1 {
		t.Errorf("%d lanes, %d jobs in the lane of their product, %d tables whose policies are not forced, %d ready jobs counted (%v)", lanes, fitting, open, counted, err)
	}
}

// What was used before is charged, summed up by the hour, and of unknown price.
func checkUsage(t *testing.T, rows *pgx.Conn) {
	t.Helper()
	var text string
	err := rows.QueryRow(t.Context(), `SELECT concat_ws(' ', (SELECT sum(charged_nanos) FROM usage_entry),
		(SELECT concat_ws('/', charged_nanos, unpriced_tokens) FROM job_usage),
		(SELECT concat_ws('/', agent, entries, input_tokens, charged_nanos, unpriced_tokens, unpriced) FROM usage_hour))`).Scan(&text)
	if want := "700 700/30 ada/2/20/700/30/1"; err != nil || text != want {
		t.Errorf("what was used is %q, want %q (%v)", text, want, err)
	}
}

// upTo migrates to a version as that version's program did.
func upTo(t *testing.T, address string, version int64) {
	t.Helper()
	pool, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	provider, err := goose.NewProvider(goose.DialectPostgres, pool, schema.FS, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.UpTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
}

// addressOf is another database of the same server, as another user where one is given.
func addressOf(t *testing.T, conn *pgx.Conn, database string, user *url.Userinfo) string {
	t.Helper()
	u, err := url.Parse(conn.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + database
	if user != nil {
		u.User = user
	}
	return u.String()
}
