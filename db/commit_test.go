package db

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// withoutStandby returns a database whose commits wait for a standby that does not come, and a
// connection of its superuser, who does not wait.
func withoutStandby(t *testing.T) (*DB, *pgx.Conn) {
	t.Helper()
	server, err := StartEmbedded(t.Context(), filepath.Join(openDir(t), "data"), quiet, "fsync=off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := Migrate(t.Context(), server.URL()); err != nil {
		t.Fatal(err)
	}
	owner, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeQuietly(t.Context(), owner) })
	run(t, owner, "SET synchronous_commit = local")
	awaitStandby(t, owner, "nobody")
	d, err := Open(t.Context(), Options{OwnerURL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d, owner
}

// awaitStandby has commits of the server wait for a standby of that name, "" for none.
func awaitStandby(t *testing.T, owner *pgx.Conn, name string) {
	t.Helper()
	run(t, owner, fmt.Sprintf("ALTER SYSTEM SET synchronous_standby_names = '%s'", name))
	run(t, owner, "SELECT pg_reload_conf()")
	until(t, owner, fmt.Sprintf("current_setting('synchronous_standby_names') = '%s'", name))
}

func run(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// until waits until a condition of SQL is true.
func until(t *testing.T, conn *pgx.Conn, condition string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for is := false; !is; <-tick.C {
		if err := conn.QueryRow(ctx, "SELECT "+condition).Scan(&is); err != nil {
			t.Fatalf("%s: %v", condition, err)
		}
	}
}

// write saves a row.
func write(ctx context.Context, d *DB, name string) error {
	return d.In(ctx, None, func(tx Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO leadership (name, holder, term, expires_at) VALUES ($1, 'x', 1, now())", name)
		return err
	})
}

// A commit whose answer does not come in time is left alone: where it was cancelled everybody
// would see what no standby has, answer by it, and lose it in a failover.
func TestACommitThatIsNotReplicatedStaysUnseen(t *testing.T) {
	t.Parallel()
	d, owner := withoutStandby(t)
	for _, name := range []string{"first", "second"} { // the second gives a cancellation of the first its time
		if err := write(t.Context(), d, name); !errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("a commit that no standby has: %v", err)
		}
	}
	seen := 0
	if err := owner.QueryRow(t.Context(), "SELECT count(*) FROM leadership").Scan(&seen); err != nil || seen != 0 {
		t.Errorf("%d rows are seen that no standby has (%v)", seen, err)
	}
	awaitStandby(t, owner, "")
	until(t, owner, "count(*) = 2 FROM leadership")
}

// PostgreSQL confirms a commit with a warning when somebody ended its wait for a standby.
func TestACommitThatIsConfirmedWithAWarningIsNoSuccess(t *testing.T) {
	t.Parallel()
	d, owner := withoutStandby(t)
	ended := make(chan error, 1)
	go func() { ended <- write(t.Context(), d, "cancelled") }()
	until(t, owner, "count(pg_cancel_backend(pid)) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	if err := <-ended; !errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("a commit whose wait was ended: %v", err)
	}
	awaitStandby(t, owner, "")
	if err := write(t.Context(), d, "after"); err != nil {
		t.Errorf("the next one: %v", err)
	}
}
