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

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/db/schema"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// baseline is the last file of the schema that the first release begins with.
const baseline = 14

// A database with jobs in it is brought up to date also by an owner that is no
// superuser: policies that are forced on it hide its rows from it.
func TestAnOwnerWithoutPrivilegesMigratesRows(t *testing.T) {
	t.Parallel()
	name, owner, rows := oldDatabase(t, baseline)
	run := func(conn *pgx.Conn, statement string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), statement, args...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
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
	err := rows.QueryRow(t.Context(), `SELECT coalesce(string_agg(format('%s on %s for %s', p.polname, p.polrelid::regclass, r.rolname), ', '), '')
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

// oldDatabase returns one that was migrated to a version, empty, of an owner without privileges.
// It gives the owner's name and address, and a connection that sees all rows.
func oldDatabase(t *testing.T, version int64) (name, owner string, rows *pgx.Conn) {
	t.Helper()
	boss := dbtest.Owner(t, dbtest.New(t))
	name = "fleetboard_up_" + strings.ReplaceAll(ids.New().String(), "-", "")
	for _, statement := range []string{"CREATE ROLE " + name + " LOGIN CREATEROLE PASSWORD 'x'",
		"GRANT fleetboard_app, fleetboard_system TO " + name + " WITH ADMIN OPTION", "CREATE DATABASE " + name + " OWNER " + name} {
		if _, err := boss.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	t.Cleanup(func() {
		for _, statement := range []string{"DROP DATABASE " + name + " WITH (FORCE)", "DROP ROLE " + name} {
			if _, err := boss.Exec(context.Background(), statement); err != nil {
				t.Errorf("%s: %v", statement, err)
			}
		}
	})
	owner = addressOf(t, boss, name, url.UserPassword(name, "x"))
	upTo(t, owner, version)
	rows, err := pgx.Connect(t.Context(), addressOf(t, boss, name, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rows.Close(context.Background()) })
	return name, owner, rows
}

// beforeScope is the last file of the schema before messages had senders and jobs a root.
const beforeScope = 40

// What agents filed before knows its root and depth; what was said in the thread of a job is
// about its product, and what inboxes hold is of its sender.
func TestOldRowsGetTheirRootsAndScopes(t *testing.T) {
	t.Parallel()
	_, owner, rows := oldDatabase(t, beforeScope)
	for _, statement := range []string{
		`INSERT INTO workspace (id, slug, name) SELECT md5('w')::uuid, 'w', 'W'`,
		`INSERT INTO product (workspace_id, id, name) SELECT md5('w')::uuid, md5('p')::uuid, 'default'`,
		`INSERT INTO lane (workspace_id, product_id, needs, digest) SELECT md5('w')::uuid, md5('p')::uuid, '{}', sha256('x')`,
		`INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, created_by, created_at)
			SELECT md5('w')::uuid, md5(n)::uuid, n, 'old', md5('p')::uuid, (SELECT id FROM lane), 'blocked', 'Mara', now() + ord * interval '1 second'
			FROM unnest('{A,B,C,D,E}'::text[]) WITH ORDINALITY AS x(n, ord)`,
		// An agent filed B while it worked on A, and C on B; a person linked E with D, and A with C, later.
		`INSERT INTO job_dependency (workspace_id, job_id, depends_on_id, type, created_by, created_at)
			SELECT j.workspace_id, j.id, md5(l.other)::uuid, l.type, 'ada', j.created_at + l.later * interval '1 minute'
			FROM (VALUES ('B', 'A', 'discovered_from', 0), ('C', 'B', 'discovered_from', 0), ('C', 'A', 'blocks', 0),
				('E', 'D', 'discovered_from', 1), ('A', 'C', 'discovered_from', 1)) l(job, other, type, later)
			JOIN job j ON j.key = l.job`,
		`INSERT INTO message (workspace_id, seq, id, type, from_kind, from_id, from_name, to_kind, to_name, correlation_id, digest)
			SELECT md5('w')::uuid, n, gen_random_uuid(), 'custom.x', CASE n WHEN 3 THEN 'system' ELSE 'agent' END,
				CASE n WHEN 3 THEN NULL ELSE md5('ada')::uuid END, 'x', 'role', 'worker', CASE n WHEN 1 THEN 'A' ELSE 'talk' END, sha256('x')
			FROM generate_series(1, 3) n`,
		`INSERT INTO message_delivery (workspace_id, inbox, seq) SELECT workspace_id, 'role:worker', seq FROM message`,
	} {
		if _, err := rows.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if err := db.Migrate(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	var jobs, said string
	err := rows.QueryRow(t.Context(), `SELECT
		(SELECT string_agg(concat(j.key, ':', r.key, j.depth), ' ' ORDER BY j.key) FROM job j LEFT JOIN job r ON r.id = j.root_id),
		(SELECT string_agg(concat(d.seq, CASE WHEN d.product_id = md5('p')::uuid AND m.product_id = d.product_id THEN ' product' END,
				CASE WHEN d.from_id = md5('ada')::uuid THEN ' ada' END), ', ' ORDER BY d.seq)
			FROM message_delivery d JOIN message m USING (workspace_id, seq))`).Scan(&jobs, &said)
	if err != nil || jobs != "A:0 B:A1 C:A2 D:0 E:0" {
		t.Errorf("roots and depths are %q (%v)", jobs, err)
	}
	if said != "1 product ada, 2 ada, 3" {
		t.Errorf("inboxes hold %q", said)
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

// beforeServers is the last file of the schema before servers were listed.
const beforeServers = 73

// A migration that fails, here over a table that somebody made by hand, is named and leaves nothing
// behind; a server of the version before works on, and once the cause is gone the next start migrates.
func TestAMigrationThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	_, owner, rows := oldDatabase(t, beforeServers)
	exec := func(statement string) {
		t.Helper()
		if _, err := rows.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	exec(`INSERT INTO workspace (id, slug, name) SELECT md5('w')::uuid, 'w', 'W'`)
	exec(`CREATE TABLE server (name text)`)
	for range 2 { // a start and its repetition
		err := db.Migrate(t.Context(), owner)
		if err == nil || !strings.Contains(err.Error(), "the migration 00074_server.sql failed and changed nothing") ||
			!strings.Contains(err.Error(), `relation "server" already exists`) {
			t.Errorf("a failed migration: %v", err)
		}
		var version, left int
		if err := rows.QueryRow(t.Context(), `SELECT max(version_id), (SELECT count(*) FROM pg_attribute
			WHERE attrelid = 'server'::regclass AND attnum > 0) FROM goose_db_version`).Scan(&version, &left); err != nil || version != beforeServers || left != 1 {
			t.Errorf("it left version %d, and %d columns (%v)", version, left, err)
		}
	}
	exec(`UPDATE workspace SET name = 'still works'`)
	exec(`DROP TABLE server`)
	if err := db.Migrate(t.Context(), owner); err != nil {
		t.Error(err)
	}
}

// beforeSerialise is the last file of the schema before products said which jobs of a repo they
// keep apart.
const beforeSerialise = 59

// A product that allowed one job in a repo still does, and the jobs that have repos keep them.
func TestOneJobPerRepoBecomesSerialise(t *testing.T) {
	t.Parallel()
	_, owner, rows := oldDatabase(t, beforeSerialise)
	for _, statement := range []string{
		`INSERT INTO workspace (id, slug, name) SELECT md5('w')::uuid, 'w', 'W'`,
		`INSERT INTO product (workspace_id, id, name, one_job_per_repo) SELECT md5('w')::uuid, md5(n)::uuid, n, n = 'alone'
			FROM unnest('{alone,default}'::text[]) n`,
		`INSERT INTO lane (workspace_id, product_id, needs, digest) SELECT md5('w')::uuid, md5('alone')::uuid, '{}', sha256('x')`,
		`INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, repo, status, wait_reason, created_by)
			SELECT md5('w')::uuid, md5(n)::uuid, n, 'old', md5('alone')::uuid, (SELECT id FROM lane), 'api',
				CASE n WHEN 'A' THEN 'ready' ELSE 'waiting' END, CASE n WHEN 'A' THEN '' ELSE 'repo_busy' END, 'Mara'
			FROM unnest('{A,B}'::text[]) n`,
		`INSERT INTO repo_slot (workspace_id, repo, job_id) SELECT md5('w')::uuid, 'api', md5('A')::uuid`,
	} {
		if _, err := rows.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if err := db.Migrate(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	var found string
	err := rows.QueryRow(t.Context(), `SELECT (SELECT string_agg(name || ' ' || serialise, ', ' ORDER BY name) FROM product)
		|| '; ' || (SELECT repo || ' ' || (job_id = md5('A')::uuid) || ' ' || (files IS NULL) FROM repo_slot)`).Scan(&found)
	if want := "alone repo, default none; api true true"; err != nil || found != want {
		t.Errorf("%q, want %q (%v)", found, want, err)
	}
	if _, err := rows.Exec(t.Context(), `INSERT INTO repo_slot (workspace_id, repo, job_id) SELECT md5('w')::uuid, 'api', md5('B')::uuid`); err == nil {
		t.Error("two jobs have the repo to themselves")
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
