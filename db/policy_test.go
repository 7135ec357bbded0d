package db_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
)

// Every table that has a workspace_id, and the workspace itself, shows and
// takes only rows of the transaction's workspace.
func TestEveryTableOfAWorkspaceHasItsPolicy(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	rows, err := dbtest.Owner(t, d).Query(t.Context(), `
		SELECT c.relname, c.relrowsecurity, c.relforcerowsecurity,
			coalesce(bool_or(p.polqual IS NOT NULL AND p.polwithcheck IS NOT NULL AND p.polcmd = '*'), false)
		FROM pg_class c LEFT JOIN pg_policy p ON p.polrelid = c.oid
		WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace
			AND (c.relname = 'workspace' OR EXISTS (SELECT FROM pg_attribute a
				WHERE a.attrelid = c.oid AND a.attname = 'workspace_id' AND NOT a.attisdropped))
		GROUP BY c.oid ORDER BY c.relname`)
	if err != nil {
		t.Fatal(err)
	}
	tables := 0
	var name string
	var enabled, forced, both bool
	_, err = pgx.ForEachRow(rows, []any{&name, &enabled, &forced, &both}, func() error {
		tables++
		if !enabled || !forced || !both {
			t.Errorf("%s: enabled %t, forced %t, a policy with USING and WITH CHECK %t", name, enabled, forced, both)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if tables < 17 {
		t.Errorf("only %d tables were looked at; the question is wrong", tables)
	}
}

func TestTheApplicationOwnsNothingAndCannotPassPolicies(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	for what, sql := range map[string]string{
		"objects owned": `SELECT count(*) FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner
			WHERE r.rolname IN ('fleetboard_app', 'fleetboard_system')`,
		"rights past the policies": `SELECT count(*) FROM pg_roles
			WHERE rolname IN ('fleetboard_app', 'fleetboard_system') AND (rolsuper OR rolbypassrls OR rolcanlogin OR rolcreaterole OR rolcreatedb)`,
		"ways to change the log": `SELECT count(*) FROM unnest(ARRAY['UPDATE', 'DELETE', 'TRUNCATE']) AS p(name)
			WHERE has_table_privilege('fleetboard_app', 'event', p.name)`,
		"tables the system role may write": `SELECT count(*) FROM pg_class c, unnest(ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) AS p(name)
			WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
				AND has_table_privilege('fleetboard_system', c.oid, p.name)`,
	} {
		if n := dbfactory.Int(t, d, sql); n != 0 {
			t.Errorf("%s: %d; want none", what, n)
		}
	}
	err := d.In(t.Context(), db.None, func(tx db.Tx) error {
		var user string
		var super bool
		err := tx.QueryRow(t.Context(), `SELECT current_user, rolsuper FROM pg_roles WHERE rolname = current_user`).Scan(&user, &super)
		if user != "fleetboard_app" || super {
			t.Errorf("queries run as %s, superuser %t", user, super)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The policies are tried, not only read: a transaction of one workspace sees
// and writes nothing of another, and one without a workspace sees nothing.
func TestAWorkspaceSeesOnlyItsOwnRows(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	mine, theirs := dbfactory.Workspace(t, d), dbfactory.Workspace(t, d)
	count := func(tx db.Tx) (n int, err error) {
		err = tx.QueryRow(t.Context(), `SELECT count(*) FROM product`).Scan(&n)
		return n, err
	}
	check := func(what string, want int, in db.Scope) {
		t.Helper()
		err := d.In(t.Context(), in, func(tx db.Tx) error {
			n, err := count(tx)
			if n != want {
				t.Errorf("%s sees %d products; want %d", what, n, want)
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	check("a workspace", 1, db.Workspace(mine))
	check("no workspace", 0, db.None)
	check("the workspace again", 1, db.Workspace(mine))

	err := d.In(t.Context(), db.Workspace(mine), func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO product (workspace_id, id, name) VALUES ($1, gen_random_uuid(), 'planted')`, theirs)
		return err
	})
	if err == nil {
		t.Error("a row was planted in another workspace")
	}
	err = d.In(t.Context(), db.Workspace(mine), func(tx db.Tx) error {
		tag, err := tx.Exec(t.Context(), `UPDATE product SET paused = true WHERE workspace_id = $1`, theirs)
		if tag.RowsAffected() != 0 {
			return errors.New("another workspace's row was changed")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// list reads one column of text as the owner.
func list(t *testing.T, d *db.DB, sql string) []string {
	t.Helper()
	rows, err := dbtest.Owner(t, d).Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// systemReads is all that the system role may read, over all workspaces: where
// there is work and when, how much of it there is, whose tokens have ended, which keys are in use, how far logs are sealed. No name, no text,
// nothing that people or agents wrote. A migration that needs more says so here.
var systemReads = []string{
	"agent: dead_after_seconds factory_id health_told id last_heartbeat_at terminated_at workspace_id",
	"blob: free_since workspace_id",
	"blob_data: expires_at workspace_id",
	"budget: removed_at verdict workspace_id",
	"coordinator_log: at workspace_id",
	"dispatch_setting: ageing_minutes placed_version preempt_gap version workspace_id",
	"event: id workspace_id xid",
	"factory: id seats workspace_id",
	"fleet_stop: hold released_at workspace_id",
	"job: estimated_minutes id not_before status wait_reason workspace_id",
	"job_count: jobs status",
	"job_count_change: jobs status workspace_id",
	"job_lease: agent_id claimed_at directive expires_at follows grace_ends_at job_id progress_at warned_at workspace_id",
	"job_merge: decided_at workspace_id",
	"job_verify: decided_at workspace_id",
	"leadership: acquired_at expires_at last_cycle_at name",
	"log_seal: digest number signature signer to_id to_xid workspace_id",
	"notification: closed_at escalate_at workspace_id",
	"notification_delivery: due_at trying_until workspace_id",
	"notification_setting: workspace_id",
	"pool: workspace_id",
	"preemption: workspace_id",
	"product: merge_by workspace_id",
	"revocation: at floor reason subject workspace_id",
	"server: seen_at",
	"usage_pricing: workspace_id",
	"webhook: id workspace_id",
	"workspace: id slug",
	"workspace_key: id retired_at server_key workspace_id",
}

func TestTheSystemRoleReadsAShortList(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	got := list(t, d, `SELECT c.relname || ': ' || string_agg(a.attname, ' ' ORDER BY a.attname)
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
			AND a.attnum > 0 AND NOT a.attisdropped
			AND has_column_privilege('fleetboard_system', c.oid, a.attnum, 'SELECT')
		GROUP BY c.relname ORDER BY c.relname COLLATE "C"`)
	if diff := cmp.Diff(systemReads, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for what, sql := range map[string]string{
		"columns it may write": `SELECT format('%s.%s: %s', c.relname, a.attname, p.name)
			FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid, unnest(ARRAY['INSERT', 'UPDATE', 'REFERENCES']) AS p(name)
			WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped
				AND has_column_privilege('fleetboard_system', c.oid, a.attnum, p.name)`,
		"tables it may take rows from": `SELECT format('%s: %s', c.relname, p.name)
			FROM pg_class c, unnest(ARRAY['DELETE', 'TRUNCATE', 'TRIGGER']) AS p(name)
			WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
				AND has_table_privilege('fleetboard_system', c.oid, p.name)`,
		"policies that let it write": `SELECT format('%s of %s', p.polname, p.polrelid::regclass) FROM pg_policy p
			WHERE 'fleetboard_system'::regrole = ANY(p.polroles) AND (p.polcmd <> 'r' OR p.polwithcheck IS NOT NULL)`,
		"roles it is in": `SELECT roleid::regrole::text FROM pg_auth_members WHERE member = 'fleetboard_system'::regrole`,
	} {
		if got := list(t, d, sql); len(got) > 0 {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// ofNoWorkspace are the tables that every transaction sees whole: people and how
// they log in, who leads, which migrations ran. Everything else is of a workspace.
var ofNoWorkspace = []string{"account", "account_identity", "account_login", "account_totp", "database_identity", "database_proof", "event_type",
	"goose_db_version", "leadership", "login_throttle", "recovery_code", "server", "session", "setup_link"}

// What is in the database beside tables and policies opens no way around them.
func TestNoWayAroundThePolicies(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	for what, c := range map[string]struct {
		want []string
		sql  string
	}{
		"tables without policies": {ofNoWorkspace, `SELECT relname::text FROM pg_class
			WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relrowsecurity ORDER BY relname COLLATE "C"`},
		"views that run with their owner's rights": {nil, `SELECT relname::text FROM pg_class
			WHERE relnamespace = 'public'::regnamespace
				AND (relkind IN ('m', 'f') OR relkind = 'v' AND NOT coalesce('security_invoker=true' = ANY(reloptions), false))`},
		"functions that run with their owner's rights": {[]string{"analyze_grown_tables() search_path=pg_catalog, pg_temp lock_timeout=100ms default_statistics_target=10",
			"collect_contents(uuid,integer) search_path=pg_catalog, pg_temp",
			"compact_job_events(uuid,uuid) search_path=pg_catalog, pg_temp", "database_age() search_path=pg_catalog, pg_temp",
			"find_job_logs(uuid,tsquery,integer) search_path=pg_catalog, pg_temp enable_seqscan=off",
			"find_jobs(uuid,tsquery,integer) search_path=pg_catalog, pg_temp enable_seqscan=off",
			"find_messages(uuid,tsquery,integer) search_path=pg_catalog, pg_temp enable_seqscan=off",
			"purge_job(uuid,uuid,text,text,text) search_path=pg_catalog, pg_temp",
			"words_of_jobs_gone() search_path=pg_catalog, pg_temp", "words_of_messages_gone() search_path=pg_catalog, pg_temp"}, `
			SELECT p.oid::regprocedure || ' ' || coalesce(array_to_string(p.proconfig, ' '), 'no search path') FROM pg_proc p
			WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef ORDER BY 1`},
		"of them, those that anybody may call": {nil, `SELECT p.oid::regprocedure::text FROM pg_proc p
			WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef
				AND EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.grantee = 0)`},
		"policies for everybody": {nil, `SELECT format('%s of %s', polname, polrelid::regclass) FROM pg_policy WHERE 0 = ANY(polroles)`},
		"tables for everybody": {nil, `SELECT c.relname::text FROM pg_class c, aclexplode(c.relacl) a
			WHERE c.relnamespace = 'public'::regnamespace AND a.grantee = 0`},
		"ways into the schema": {nil, `SELECT r.rolname::text FROM pg_roles r WHERE r.rolname LIKE 'fleetboard\_%'
			AND r.rolname IN ('fleetboard_app', 'fleetboard_system') AND has_schema_privilege(r.oid, 'public', 'CREATE')`},
		// A workspace could count what others do.
		"sequences that tell how far others are": {nil, `SELECT format('%s: %s', s.relname, r.name)
			FROM pg_class s, unnest(ARRAY['fleetboard_app', 'fleetboard_system']) AS r(name), unnest(ARRAY['SELECT', 'USAGE', 'UPDATE']) AS p(name)
			WHERE s.relkind = 'S' AND s.relnamespace = 'public'::regnamespace AND has_sequence_privilege(r.name, s.oid, p.name)`},
		// A rule of ours that is evaluated per row, not once per statement, costs with every row.
		"policies that are asked for each row": {nil, `SELECT format('%s of %s', p.polname, p.polrelid::regclass) FROM pg_policy p,
			unnest(ARRAY[pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)]) AS e(rule)
			WHERE e.rule LIKE '%current_setting%'
				AND regexp_count(e.rule, 'current_setting') <> regexp_count(e.rule, '\( SELECT \(?(decode\()?NULLIF\(current_setting')`},
	} {
		if diff := cmp.Diff(c.want, list(t, d, c.sql), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// hashKeys are found before the workspace is known: nobody can guess a value of
// theirs, so that a refusal reveals nothing. The others are numbers that the
// database gives, and ids of jobs, which nobody chooses.
var hashKeys = []string{"access_token_hash_key", "coordinator_log_pkey", "invitation_hash_key", "job_lease_pkey"}

// A unique index or a foreign key over workspaces would show one workspace what
// another has: the refusal is the answer.
func TestKeysDoNotReachOverWorkspaces(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	const column = `(SELECT a.attnum FROM pg_attribute a WHERE a.attrelid = %s AND a.attname = 'workspace_id' AND NOT a.attisdropped)`
	keys := list(t, d, fmt.Sprintf(`SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
		WHERE c.relnamespace = 'public'::regnamespace AND i.indisunique AND %[1]s IS NOT NULL AND %[1]s <> ALL (i.indkey::int2[])
		ORDER BY 1`, fmt.Sprintf(column, "i.indrelid")))
	if diff := cmp.Diff(hashKeys, keys); diff != "" {
		t.Errorf("unique over all workspaces (-want +got):\n%s", diff)
	}
	links := list(t, d, fmt.Sprintf(`SELECT f.conrelid::regclass || ' ' || pg_get_constraintdef(f.oid) FROM pg_constraint f
		WHERE f.contype = 'f' AND f.connamespace = 'public'::regnamespace AND %[1]s IS NOT NULL AND %[2]s IS NOT NULL
			AND (f.conkey[1] <> %[1]s OR f.confkey[1] <> %[2]s)`, fmt.Sprintf(column, "f.conrelid"), fmt.Sprintf(column, "f.confrelid")))
	if len(links) > 0 {
		t.Errorf("links that may lead into another workspace: %v", links)
	}
	if n := dbfactory.Int(t, d, fmt.Sprintf(`SELECT count(*) FROM pg_constraint f WHERE f.contype = 'f' AND %s IS NOT NULL AND %s IS NOT NULL`,
		fmt.Sprintf(column, "f.conrelid"), fmt.Sprintf(column, "f.confrelid"))); n < 12 {
		t.Errorf("only %d links were looked at; the question is wrong", n)
	}
}
