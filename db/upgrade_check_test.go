package db_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/db/upgrade"
)

// beforeRank is the last file of the schema before jobs got a rank, a generated column of all of them.
const beforeRank = 67

// What an upgrade would lock, write anew and index is known before it begins, and nothing is changed.
func TestAnUpgradeIsKnownBeforeItBegins(t *testing.T) {
	t.Parallel()
	_, owner, rows := oldDatabase(t, beforeRank)
	boss := dbtest.Owner(t, dbtest.New(t))
	if _, err := upgrade.Check(t.Context(), owner); err == nil {
		t.Error("an owner who may make no databases got an answer")
	}
	before := names(t, boss, `SELECT datname::text FROM pg_database WHERE datname LIKE 'fleetboard_check_%'`)
	u, err := upgrade.Check(t.Context(), rows.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	newest, err := db.SchemaVersion()
	if err != nil || u.Has != beforeRank || u.Needs != newest || len(u.Steps) == 0 || u.Steps[0].Version != beforeRank+1 {
		t.Fatalf("from %d to %d (want %d), %+v (%v)", u.Has, u.Needs, newest, u.Steps, err)
	}
	step := u.Steps[0]
	i := slices.IndexFunc(step.Tables, func(table upgrade.Table) bool { return table.Name == "job_ready" })
	if i < 0 || !step.Tables[i].NoReads || !step.Tables[i].Rewrites || step.Takes() <= 0 {
		t.Errorf("%s changes %+v; want that job_ready is written anew and that nobody reads it meanwhile", step.Name, step.Tables)
	}
	if is := names(t, rows, `SELECT max(version_id)::text FROM goose_db_version`); is[0] != "67" {
		t.Errorf("the database has schema %s now", is)
	}
	if after := names(t, boss, `SELECT datname::text FROM pg_database WHERE datname LIKE 'fleetboard_check_%'`); len(after) > len(before) {
		t.Errorf("the empty database was left: %v", after)
	}
	if err := db.Migrate(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	if u, err := upgrade.Check(t.Context(), owner); err != nil || len(u.Steps) != 0 || u.Has != u.Needs {
		t.Errorf("after the upgrade there is more to do: %+v (%v)", u, err)
	}
	if _, err := rows.Exec(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)`); err != nil {
		t.Fatal(err)
	}
	var newer *db.SchemaError
	if _, err := upgrade.Check(t.Context(), owner); !errors.As(err, &newer) {
		t.Errorf("a newer schema gives %v", err)
	}
}

// A migration that waits for a table lets those through that wait behind it, and is tried again.
func TestAMigrationLetsOthersUseATableThatItWaitsFor(t *testing.T) {
	t.Parallel()
	_, owner, rows := oldDatabase(t, beforeRank)
	reader, err := rows.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Exec(t.Context(), `LOCK TABLE job_ready IN ACCESS SHARE MODE`); err != nil {
		t.Fatal(err)
	}
	migrated := make(chan error, 1)
	go func() { migrated <- db.Migrate(context.WithoutCancel(t.Context()), owner) }()
	other, err := pgx.Connect(t.Context(), rows.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close(context.WithoutCancel(t.Context())) }()
	waits := `SELECT count(*)::text FROM pg_locks WHERE NOT granted AND relation = 'job_ready'::regclass
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	awaitText(t, other, waits, "1")
	awaitText(t, other, waits, "0")
	if _, err := other.Exec(t.Context(), `SELECT FROM job_ready LIMIT 1`); err != nil {
		t.Errorf("nobody reads jobs while the migration waits: %v", err)
	}
	if err := reader.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Errorf("the migration that had to wait ended with %v", err)
	}
}

// awaitText asks until the answer is the wanted one.
func awaitText(t *testing.T, conn *pgx.Conn, query, want string) {
	t.Helper()
	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if got := names(t, conn, query); got[0] == want {
			return
		}
		select {
		case <-limited.Done():
			t.Fatalf("%s is not %s within a minute", query, want)
		case <-tick.C:
		}
	}
}

func names(t *testing.T, conn *pgx.Conn, query string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}
