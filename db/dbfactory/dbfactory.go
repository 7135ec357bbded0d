// Package dbfactory makes the rows that tests start from. A test says what
// matters to it; the rest has a default. Nothing here returns an error: a
// fixture that cannot be made ends the test.
package dbfactory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Workspace makes a workspace with the product "default" and returns its id.
func Workspace(t testing.TB, d *db.DB) ids.ID {
	t.Helper()
	id := ids.New()
	Exec(t, d, strings.Join(workspace(id), ";"))
	return id
}

func workspace(id ids.ID) []string {
	var list []string
	for _, sql := range []string{
		`INSERT INTO workspace (id, slug, name) VALUES ('%[1]s', 'w-%[1]s', 'Kestrel Labs')`,
		`INSERT INTO job_number (workspace_id) VALUES ('%s')`,
		`INSERT INTO product (workspace_id, id, name) VALUES ('%s', gen_random_uuid(), 'default')`,
	} {
		list = append(list, fmt.Sprintf(sql, id))
	}
	return list
}

// Filled makes a database with two workspaces, as dbtest.Filled does, and returns it and the
// first one's id. The statements are given both.
func Filled(t testing.TB, statements func(first, second ids.ID) []string) (*db.DB, ids.ID) {
	t.Helper()
	first, second := ids.ID{1}, ids.ID{2}
	return dbtest.Filled(t, slices.Concat(workspace(first), workspace(second), statements(first, second))...), first
}

// Exec runs a statement as the owner: to move clocks, to break what the
// application could not break.
func Exec(t testing.TB, d *db.DB, sql string, args ...any) {
	t.Helper()
	err := dbtest.AsOwner(t, d, func(owner *pgx.Conn) error {
		_, err := owner.Exec(context.Background(), sql, args...)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// AnyFacts lets the log of this database hold facts that nobody knows.
func AnyFacts(t testing.TB, d *db.DB) {
	t.Helper()
	Exec(t, d, `ALTER TABLE event DROP CONSTRAINT event_type_known`)
}

// Int reads one number as the owner.
func Int(t testing.TB, d *db.DB, sql string, args ...any) int {
	t.Helper()
	return value[int](t, d, sql, args...)
}

// AwaitCounts returns once PostgreSQL's running numbers have all rows of the tables: a session
// reports them when it ends, a moment after its client has gone.
func AwaitCounts(t testing.TB, d *db.DB, tables ...string) {
	t.Helper()
	for _, table := range tables {
		for Int(t, d, `SELECT (pg_stat_get_live_tuples($1::text::regclass) < (SELECT count(*) FROM `+table+`))::int`, table) != 0 {
		}
	}
}

// Text reads one text as the owner.
func Text(t testing.TB, d *db.DB, sql string, args ...any) string {
	t.Helper()
	return value[string](t, d, sql, args...)
}

func value[T any](t testing.TB, d *db.DB, sql string, args ...any) (v T) {
	t.Helper()
	err := dbtest.AsOwner(t, d, func(owner *pgx.Conn) error {
		return owner.QueryRow(context.Background(), sql, args...).Scan(&v)
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// Readable waits until all events and messages may be read. They are read up to
// the oldest transaction of the whole server that is still open, and that may be
// another test's.
func Readable(t testing.TB, d *db.DB) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for Int(t, d, `SELECT (SELECT count(*) FROM event WHERE xid >= log_horizon()) +
		(SELECT count(*) FROM message WHERE seq >> 10 >= log_horizon()::text::bigint)`) > 0 {
		select {
		case <-t.Context().Done():
			t.Fatal("the log was never told whole")
		case <-look.C:
		}
	}
}

// Person returns a member of a workspace with a role.
func Person(workspace ids.ID, role tenancy.Role) tenancy.Principal {
	return tenancy.Principal{Kind: tenancy.KindPerson, Workspace: workspace, Account: ids.New(), Role: role, Name: "Mara Ilić"}
}

// Enrolment returns an enrolment token without limits.
func Enrolment(workspace ids.ID) tenancy.Principal {
	return tenancy.Principal{Kind: tenancy.KindEnrolment, Workspace: workspace, Name: "enrolment"}
}
