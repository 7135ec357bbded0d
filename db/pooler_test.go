package db_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/ids"
)

const bothRoles = "GRANT fleetboard_app, fleetboard_system TO %s"

// crowd runs many transactions at once that ask in turn as the application and as the
// system, and says what went wrong first.
func crowd(t *testing.T, d *db.DB) error {
	t.Helper()
	ws := addWorkspace(t, d, "crowded")
	var all errgroup.Group
	all.SetLimit(40)
	for i := range 1000 {
		all.Go(func() error {
			ctx, n := t.Context(), 0
			switch i % 3 {
			case 0:
				return d.In(ctx, db.System, func(tx db.Tx) error {
					err := tx.QueryRow(ctx, "SELECT count(*) FROM workspace").Scan(&n)
					if err == nil && n != 1 {
						err = fmt.Errorf("the system sees %d workspaces", n)
					}
					return err
				})
			case 1:
				return d.In(ctx, db.None, func(tx db.Tx) error {
					err := tx.QueryRow(ctx, "SELECT count(*) FROM product").Scan(&n)
					if err == nil && n != 0 {
						err = fmt.Errorf("in no workspace there are %d products", n)
					}
					return err
				})
			}
			return d.In(ctx, db.Workspace(ws), func(tx db.Tx) error {
				if _, err := tx.Exec(ctx, "INSERT INTO product (workspace_id, id, name) VALUES ($1, gen_random_uuid(), $2)", ws, fmt.Sprint("p", i)); err != nil {
					return err
				}
				// As many different statements as connections remember.
				err := tx.QueryRow(ctx, fmt.Sprintf("SELECT count(*) + %d FROM product WHERE name = $1", i%7), fmt.Sprint("p", i)).Scan(&n)
				if err == nil && n != 1+i%7 {
					err = fmt.Errorf("it does not see what it wrote: %d", n)
				}
				return err
			})
		})
	}
	return all.Wait()
}

// Behind a pooler that gives each transaction another process of PostgreSQL all is as
// without one, with a login that inherits nothing.
func TestThroughAPooler(t *testing.T) {
	t.Parallel()
	for _, mode := range []dbtest.PoolMode{dbtest.Transactions, dbtest.Sessions} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			owner := dbtest.URL(t)
			through := dbtest.Pooler(t, dbtest.Login(t, owner, bothRoles), mode)
			d := dbtest.Open(t, db.Options{OwnerURL: owner, AppURL: through, MaxConns: 20})
			if err := crowd(t, d); err != nil {
				t.Error(err)
			}
		})
	}
}

// What the address sets is done: it may name another way that a pooler stands.
func TestAnAddressMayChooseHowStatementsAreSent(t *testing.T) {
	t.Parallel()
	owner := dbtest.URL(t)
	through := dbtest.Pooler(t, dbtest.Login(t, owner, bothRoles), dbtest.Transactions)
	if err := crowd(t, dbtest.Open(t, db.Options{OwnerURL: owner, AppURL: through + "&default_query_exec_mode=exec", MaxConns: 20})); err != nil {
		t.Error(err)
	}
}

// The owner's address has to keep sessions; a sentence says so before anything is changed.
func TestMigrationsNeedSessions(t *testing.T) {
	t.Parallel()
	owner := dbtest.URL(t)
	if err := db.Migrate(t.Context(), dbtest.Pooler(t, owner, dbtest.Sessions)); err != nil {
		t.Errorf("through a pooler that keeps sessions: %v", err)
	}
	err := db.Migrate(t.Context(), dbtest.Pooler(t, owner, dbtest.Transactions))
	if err == nil || !strings.Contains(err.Error(), "FLEETBOARD_APP_DATABASE_URL") {
		t.Errorf("through a pooler that keeps none: %v", err)
	}
}

// A login that lacks something learns in one sentence what to run.
func TestALoginIsToldWhatItLacks(t *testing.T) {
	t.Parallel()
	owner := dbtest.URL(t)
	for name, c := range map[string]struct {
		has  []string
		want string
	}{
		"neither role": {nil, "may not take the role fleetboard_app: run GRANT fleetboard_app, fleetboard_system TO"},
		"one role":     {[]string{"GRANT fleetboard_app TO %s"}, "may not take the role fleetboard_system: run GRANT fleetboard_app"},
		"both roles":   {[]string{bothRoles}, ""},
	} {
		d, err := db.Open(t.Context(), db.Options{OwnerURL: owner, AppURL: dbtest.Login(t, owner, c.has...)})
		if err == nil {
			d.Close()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// So is an owner before the first migration.
func TestAnOwnerIsToldWhatItLacks(t *testing.T) {
	t.Parallel()
	other, group := dbtest.URL(t), "fleetboard_group_"+strings.ReplaceAll(ids.New().String(), "-", "")
	run := func(sql string) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), other)
		if err == nil {
			_, err = conn.Exec(t.Context(), sql)
			_ = conn.Close(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE ROLE " + group)
	for _, c := range []struct {
		name string
		has  []string
		want string
	}{
		{"nothing", []string{"ALTER ROLE %s INHERIT"}, "does not own the database: run ALTER DATABASE"},
		{"a group's rights, not inherited", []string{"GRANT " + group + " TO %s"}, "does not inherit the rights of the owner of the database: run ALTER ROLE"},
	} {
		owner := dbtest.URL(t)
		database := owner[strings.LastIndex(owner, "/")+1 : strings.Index(owner, "?")]
		has := append([]string{"DELETE FROM goose_db_version WHERE version_id > 38", "GRANT SELECT ON goose_db_version TO %s",
			"ALTER DATABASE " + database + " OWNER TO " + group, "ALTER TABLE workspace OWNER TO " + group}, c.has...)
		if err := db.Migrate(t.Context(), dbtest.Login(t, owner, has...)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		run("ALTER DATABASE " + database + " OWNER TO CURRENT_USER")
		conn, err := pgx.Connect(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		_, err = conn.Exec(t.Context(), "REASSIGN OWNED BY "+group+" TO CURRENT_USER")
		_ = conn.Close(t.Context())
		if err != nil {
			t.Fatal(err)
		}
	}
	run("DROP ROLE " + group)
}
