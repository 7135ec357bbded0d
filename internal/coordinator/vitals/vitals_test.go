package vitals_test

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/coordinator/vitals"
)

// Whoever holds a snapshot open, with whatever login, is found by its age: dead
// rows that are not removed have that reason.
func TestAnOpenSnapshotIsTold(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	calm, err := vitals.New(d).Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tx, err := dbtest.Owner(t, d).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	var began time.Time
	if err := tx.QueryRow(t.Context(), `SELECT now()`).Scan(&began); err != nil {
		t.Fatal(err)
	}
	for range 60 {
		dbfactory.Workspace(t, d) // a transaction that takes a number
	}
	held, err := vitals.New(d).Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := time.Since(began)
	if held.OldestTransaction <= 0 || held.OldestTransaction > at || held.OldestSnapshot <= 0 || held.OldestSnapshot > at {
		t.Errorf("transaction %v, snapshot %v; both began less than %v ago", held.OldestTransaction, held.OldestSnapshot, at)
	}
	if held.SnapshotTransactions < 60 || held.SnapshotTransactions <= calm.SnapshotTransactions {
		t.Errorf("%d transactions since the snapshot, %d before; 60 were made", held.SnapshotTransactions, calm.SnapshotTransactions)
	}
	if held.UnseenSessions != 0 {
		t.Errorf("%d sessions are not seen", held.UnseenSessions)
	}
}

// An owner that may not look at the sessions of other logins says how many those
// are, instead of calling them young.
func TestSessionsThatCannotBeSeenAreCounted(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	_ = dbtest.Owner(t, d) // a session of another login
	name := "vitals_" + dbfactory.Text(t, d, `SELECT replace(gen_random_uuid()::text, '-', '')`)
	dbfactory.Exec(t, d, `CREATE ROLE `+name)
	dbfactory.Exec(t, d, `ALTER FUNCTION database_age() OWNER TO `+name)
	sample, err := vitals.New(d).Sample(t.Context())
	dbfactory.Exec(t, d, `ALTER FUNCTION database_age() OWNER TO CURRENT_USER`)
	dbfactory.Exec(t, d, `DROP ROLE `+name)
	if err != nil || sample.UnseenSessions == 0 || sample.OldestTransaction != 0 {
		t.Errorf("%d sessions are not seen, transaction %v, %v", sample.UnseenSessions, sample.OldestTransaction, err)
	}
}

func TestTheHotTablesAreTold(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	sample, err := vitals.New(d).Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, table := range sample.Tables {
		names = append(names, table.Name)
	}
	if want := []string{"agent", "attempt", "event", "job", "job_lease", "job_log", "job_ready", "repo_slot"}; !slices.Equal(names, want) {
		t.Errorf("tables %v; want %v", names, want)
	}
}

// However many call, the database is queried once in a while.
func TestASampleIsToldAgain(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	s := vitals.New(d)
	first, err := s.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.In(t.Context(), db.System, func(db.Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if again, err := s.Sample(t.Context()); err != nil || !again.At.Equal(first.At) {
		t.Errorf("sampled at %v and again at %v, %v", first.At, again.At, err)
	}
}
