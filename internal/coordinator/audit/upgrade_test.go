package audit_test

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
	"fleetboard/internal/coordinator/audit"
	"fleetboard/internal/ids"
)

// beforeWholeLog is the last schema whose log did not tell every field of a job.
const beforeWholeLog = 38

// Jobs that were there before the log told all are told by the upgrade: replayed
// they are what is stored, with a lease and without, long values and short ones.
func TestUpgradedJobsAreWhatTheirLogTells(t *testing.T) {
	t.Parallel()
	boss := dbtest.Owner(t, dbtest.New(t))
	name := "fleetboard_told_" + strings.ReplaceAll(ids.New().String(), "-", "")
	run := func(conn *pgx.Conn, statement string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), statement, args...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	run(boss, "CREATE DATABASE "+name)
	t.Cleanup(func() {
		if _, err := boss.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(boss.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	migrateTo(t, u.String(), beforeWholeLog)
	rows, err := pgx.Connect(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close(context.Background()) }()
	workspace, product := ids.New(), ids.New()
	run(rows, `INSERT INTO workspace (id, slug, name) VALUES ($1, 'w', 'W')`, workspace)
	run(rows, `INSERT INTO product (workspace_id, id, name) VALUES ($1, $2, 'default')`, workspace, product)
	run(rows, `INSERT INTO lane (workspace_id, product_id, needs, digest) VALUES ($1, $2, '{}', sha256('x'))`, workspace, product)
	run(rows, `INSERT INTO factory (workspace_id, id, name) VALUES ($1, gen_random_uuid(), 'desk')`, workspace)
	run(rows, `INSERT INTO agent (workspace_id, id, factory_id, name, boot_id) SELECT workspace_id, gen_random_uuid(), id, 'ada', 'b' FROM factory`)
	run(rows, `INSERT INTO job (workspace_id, id, key, title, kind, product_id, lane_id, status, status_by, created_by, epoch, attempts,
			version, max_retries, last_error, current_step, progress_percent, checkpoint, estimated_complexity, estimated_minutes, token_budget, idempotency_key,
			ready_at, assigned_at, started_at, completed_at, result)
		SELECT l.workspace_id, gen_random_uuid(), 'FB-' || n, 'old', 'build', l.product_id, l.id, k.status, 'Mara', 'Mara', k.epoch, k.epoch, 7, n,
			'it broke', 'tests', 40, '{"at": 1.50}', 'M', 30, 1000, 'k' || n, now(), now(), now(),
			CASE k.status WHEN 'completed' THEN now() END, CASE k.status WHEN 'completed' THEN '{"n": 1}'::jsonb END
		FROM lane l, (VALUES (1, 'paused', 0), (2, 'running', 3), (3, 'completed', 2)) k (n, status, epoch)`)
	run(rows, `INSERT INTO job_text (workspace_id, job_id, body, acceptance, acceptance_met, input_context)
		SELECT workspace_id, id, repeat('long ', 300 * epoch::int), '["It is so"]', '[true]', '{"a": 1}' FROM job`)
	run(rows, `INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory) SELECT workspace_id, id, epoch, 'ada', 'desk' FROM job WHERE epoch > 0`)
	run(rows, `INSERT INTO job_lease (workspace_id, job_id, epoch, agent_id, factory_id, session_key, ttl_seconds, expires_at,
			progress_percent, current_step, checkpoint)
		SELECT j.workspace_id, j.id, j.epoch, a.id, a.factory_id, 's', 60, now(), 60, 'more tests', '{"at": 2}' FROM job j, agent a WHERE j.status = 'running'`)
	// What its event told then.
	run(rows, `INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, epoch, changes)
		SELECT j.workspace_id, 'job.created', j.id, 'Mara', 'person', nullif(j.epoch, 0),
			(SELECT jsonb_agg(jsonb_build_object('field', f.key, 'old', NULL, 'new', f.value)) FROM jsonb_each(jsonb_build_object('title', j.title, 'product', 'default', 'status', j.status, 'priority', j.priority)) f)
		FROM job j`)

	if err := db.Migrate(t.Context(), u.String()); err != nil {
		t.Fatal(err)
	}
	d, err := db.Open(t.Context(), db.Options{OwnerURL: u.String(), MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	report, err := audit.Verify(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		t.Errorf("%s, %s: %s", f.Job, f.Check, f.Detail)
	}
	if report.Jobs != 3 {
		t.Errorf("%d jobs were looked at", report.Jobs)
	}
}

// migrateTo migrates to a version as that version's program did.
func migrateTo(t *testing.T, address string, version int64) {
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
