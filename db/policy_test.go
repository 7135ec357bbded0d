package db_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"fleetboard/db"
	"fleetboard/db/dbfactory"
	"fleetboard/db/dbtest"
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
	err := d.InNone(t.Context(), func(tx db.Tx) error {
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
	check := func(what string, want int, in func(context.Context, func(db.Tx) error) error) {
		t.Helper()
		err := in(t.Context(), func(tx db.Tx) error {
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
	inMine := func(ctx context.Context, fn func(db.Tx) error) error { return d.InWorkspace(ctx, mine, fn) }
	check("a workspace", 1, inMine)
	check("no workspace", 0, d.InNone)
	check("the workspace again", 1, inMine)

	err := d.InWorkspace(t.Context(), mine, func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO product (workspace_id, id, name) VALUES ($1, gen_random_uuid(), 'planted')`, theirs)
		return err
	})
	if err == nil {
		t.Error("a row was planted in another workspace")
	}
	err = d.InWorkspace(t.Context(), mine, func(tx db.Tx) error {
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
