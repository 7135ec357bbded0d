package dbfactory

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Account makes a person's account.
func Account(t testing.TB, conn *pgx.Conn, account ids.ID, email, name string) {
	t.Helper()
	exec(t, conn, "INSERT INTO account (id, email, name) VALUES ($1, $2, $3)", account, email, name)
}

// Member makes a person with an account a member, with the person's role.
func Member(t testing.TB, conn *pgx.Conn, who tenancy.Principal) {
	t.Helper()
	exec(t, conn, "INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, $3)",
		who.Workspace, who.Account, string(who.Role))
}

// Foreigner makes the workspace other, and returns its owner Eve.
func Foreigner(t testing.TB, conn *pgx.Conn) tenancy.Principal {
	t.Helper()
	who := Person(ids.New(), tenancy.RoleOwner)
	who.Account, who.Name = ids.New(), "Eve"
	exec(t, conn, "INSERT INTO workspace (id, slug, name) VALUES ($1, 'other', 'Other')", who.Workspace)
	Account(t, conn, who.Account, "eve@example.org", who.Name)
	Member(t, conn, who)
	return who
}

// EventsBy counts a person's events of a type in the person's workspace whose
// payload holds a JSON object.
func EventsBy(t testing.TB, conn *pgx.Conn, who tenancy.Principal, kind, payload string) (n int) {
	t.Helper()
	err := conn.QueryRow(t.Context(), `SELECT count(*) FROM event WHERE workspace_id = $1 AND type = $2 AND payload @> $3::jsonb
		AND actor = $4 AND actor_kind = 'person'`, who.Workspace, kind, payload, who.Name).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// CountEvents counts the events of a type.
func CountEvents(t testing.TB, conn *pgx.Conn, kind string) (n int) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM event WHERE type = $1", kind).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func exec(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
