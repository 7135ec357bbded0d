package coordinator

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
)

// A table is counted once it has outgrown what was counted, and not again before it has
// trebled. One that somebody else counts at this moment is left to them.
func TestTablesThatHaveGrownAreCounted(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	dbfactory.Exec(t, d, `ALTER TABLE job SET (autovacuum_enabled = false)`)
	dbfactory.Exec(t, d, `ANALYZE`)
	m := &term{Service: &Service{db: d}}
	known := func() int {
		t.Helper()
		dbfactory.AwaitCounts(t, d, "job")
		if _, err := m.analyzeGrown(t.Context()); err != nil {
			t.Fatal(err)
		}
		return dbfactory.Int(t, d, `SELECT reltuples::int FROM pg_class WHERE oid = 'job'::regclass`)
	}
	for _, grown := range []struct{ by, known int }{{400, 0}, {200, 600}, {1500, 600}, {300, 2400}} {
		someJobs(t, d, workspace, grown.by, "ready")
		if got := known(); got != grown.known {
			t.Errorf("after %d more %d jobs are known; want %d", grown.by, got, grown.known)
		}
	}

	someJobs(t, d, workspace, 9000, "ready")
	other, err := dbtest.Owner(t, d).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(t.Context(), `LOCK TABLE job IN SHARE UPDATE EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	if got := known(); got != 2400 {
		t.Errorf("%d jobs were counted where somebody else does so", got)
	}
	if err := other.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := known(); got != 11400 {
		t.Errorf("%d jobs are known; want 11400", got)
	}
}
