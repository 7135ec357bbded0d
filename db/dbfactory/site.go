package dbfactory

import (
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// NamedWorkspace makes a workspace with a name and returns its id.
func NamedWorkspace(t testing.TB, d *db.DB, name string) ids.ID {
	t.Helper()
	id := Workspace(t, d)
	Exec(t, d, `UPDATE workspace SET name = $2 WHERE id = $1`, id, name)
	return id
}

// NewMember makes a member of a workspace with an account of their own, and returns
// the account's id.
func NewMember(t testing.TB, d *db.DB, workspace ids.ID, role tenancy.Role) ids.ID {
	t.Helper()
	id := ids.New()
	Exec(t, d, `INSERT INTO account (id, email, name) VALUES ($1::uuid, $1::text || '@example.org', 'Mara Ilić')`, id.String())
	AddMember(t, d, workspace, id.String(), role)
	return id
}

// AddMember makes an account a member of a workspace.
func AddMember(t testing.TB, d *db.DB, workspace ids.ID, account string, role tenancy.Role) {
	t.Helper()
	Exec(t, d, `INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2::uuid, $3)`, workspace, account, string(role))
}

// MoveMember moves the one membership of an account to another workspace.
func MoveMember(t testing.TB, d *db.DB, account string, to ids.ID) {
	t.Helper()
	Exec(t, d, `UPDATE membership SET workspace_id = $2 WHERE account_id = $1::uuid`, account, to)
}

// RenameAccount gives a person another name.
func RenameAccount(t testing.TB, d *db.DB, account, name string) {
	t.Helper()
	Exec(t, d, `UPDATE account SET name = $2 WHERE id = $1`, account, name)
}

// Identity links the account with an email address to a person of an identity provider.
func Identity(t testing.TB, d *db.DB, issuer, subject, email string) {
	t.Helper()
	Exec(t, d, `INSERT INTO account_identity (issuer, subject, account_id, email)
		SELECT $1, $2, id, email FROM account WHERE email = $3`, issuer, subject, email)
}

// Leadership makes a coordinator whose lease ends after one interval and whose last
// cycle was another one ago.
func Leadership(t testing.TB, d *db.DB, lease, lastCycle string) {
	t.Helper()
	Exec(t, d, `INSERT INTO leadership (name, holder, term, expires_at, last_cycle_at, cycle_count, stats)
		VALUES ('coordinator', 'mac-1/17/abc', 3, now() + $1::interval, now() - $2::interval, 1041,
			'{"leases_taken_back": 2, "jobs_promoted": 1}')
		ON CONFLICT (name) DO UPDATE SET expires_at = excluded.expires_at, last_cycle_at = excluded.last_cycle_at`, lease, lastCycle)
}

// EventCount counts the events of a type.
func EventCount(t testing.TB, d *db.DB, kind string) int {
	t.Helper()
	return Int(t, d, `SELECT count(*) FROM event WHERE type = $1`, kind)
}

// FormTokenCount counts the valid tokens that people made at the page.
func FormTokenCount(t testing.TB, d *db.DB) int {
	t.Helper()
	return Int(t, d, `SELECT count(*) FROM access_token WHERE kind = 'person' AND revoked_at IS NULL AND form_key <> ''`)
}

// PeopleCounts counts accounts, identities, members, used invitations and events.
func PeopleCounts(t testing.TB, d *db.DB) (counts [5]int) {
	t.Helper()
	for i, sql := range []string{"SELECT count(*) FROM account", "SELECT count(*) FROM account_identity", "SELECT count(*) FROM membership",
		"SELECT count(*) FROM invitation WHERE used_at IS NOT NULL", "SELECT count(*) FROM event"} {
		counts[i] = Int(t, d, sql)
	}
	return counts
}
