package handlertest

import (
	"testing"

	"fleetboard/db/dbfactory"
)

// Leads writes down that somebody coordinates, or did.
func Leads(t *testing.T, d *Desk, lease, lastCycle string) {
	t.Helper()
	dbfactory.Exec(t, d.DB, `INSERT INTO leadership (name, holder, term, expires_at, last_cycle_at, cycle_count, stats)
		VALUES ('coordinator', 'mac-1/17/abc', 3, now() + $1::interval, now() - $2::interval, 1041,
			'{"leases_taken_back": 2, "jobs_promoted": 1}')
		ON CONFLICT (name) DO UPDATE SET expires_at = excluded.expires_at, last_cycle_at = excluded.last_cycle_at`, lease, lastCycle)
}
