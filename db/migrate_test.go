package db_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pressly/goose/v3/lock"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
)

// future is a schema that no program has yet.
const future = 90000

func wantNewer(t *testing.T, err error) {
	t.Helper()
	var other *db.SchemaError
	if !errors.As(err, &other) || other.Has != future || other.Needs == 0 || other.Needs >= future ||
		!strings.Contains(err.Error(), "the database has schema 90000 and this program knows those up to") {
		t.Errorf("a newer schema: %v", err)
	}
}

// An older program leaves a newer database alone, also where it would have
// something of its own to do there.
func TestAnOlderProgramRefusesANewerSchema(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	owner := dbtest.Owner(t, d)
	address := owner.Config().ConnString()
	if err := db.CheckSchema(t.Context(), address); err != nil {
		t.Errorf("its own schema: %v", err)
	}
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := owner.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	exec(`DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)`)
	var older *db.SchemaError
	if err := db.CheckSchema(t.Context(), address); !errors.As(err, &older) || older.Has >= older.Needs || !strings.Contains(err.Error(), "needs") {
		t.Errorf("an older schema: %v", err)
	}
	exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, true)`, future)
	wantNewer(t, db.Migrate(t.Context(), address))
	wantNewer(t, db.CheckSchema(t.Context(), address))
	exec(`DELETE FROM goose_db_version`)
	if err := db.CheckSchema(t.Context(), address); !errors.As(err, &older) || older.Has != 0 {
		t.Errorf("a table without versions: %v", err)
	}
	exec(`DROP TABLE goose_db_version`)
	if err := db.CheckSchema(t.Context(), address); !errors.As(err, &older) || older.Has != 0 {
		t.Errorf("no table of versions: %v", err)
	}
}

// A newer program that migrates at the same moment is awaited before the versions
// are compared.
func TestTheSchemaIsComparedUnderTheLock(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	newer := dbtest.Owner(t, d)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := newer.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	exec(`SELECT pg_advisory_lock($1)`, lock.DefaultLockID)
	ended := make(chan error, 1)
	go func() { ended <- db.Migrate(t.Context(), newer.Config().ConnString()) }()
	for asked := false; !asked; {
		if len(ended) > 0 {
			t.Fatalf("it did not wait for the lock: %v", <-ended)
		}
		if err := newer.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
			AND pid <> pg_backend_pid() AND query LIKE '%pg_try_advisory_lock%')`).Scan(&asked); err != nil {
			t.Fatal(err)
		}
	}
	exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, true)`, future)
	exec(`SELECT pg_advisory_unlock($1)`, lock.DefaultLockID)
	wantNewer(t, <-ended)
	// It keeps no lock.
	var free bool
	if err := newer.QueryRow(t.Context(), `SELECT pg_try_advisory_lock($1)`, lock.DefaultLockID).Scan(&free); err != nil || !free {
		t.Errorf("the lock is not free: %v", err)
	}
}
