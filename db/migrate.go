package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"

	"github.com/fleetboard/fleetboard/db/schema"
	"github.com/fleetboard/fleetboard/internal/signal"
)

// A second process that starts at the same moment requests the lock every
// second, for at most ten minutes.
const (
	migrationLockEvery = 1
	migrationLockTries = 600
	// migrationWait is how long a migration waits for a table, in milliseconds: a small part of what PostgreSQL
	// waits before it looks for deadlocks (1 s), so that the migration gives up and not a request that has waited
	// for another table meanwhile. migrationRest is how long it lets others use it before it tries again,
	// migrationTries times.
	migrationWait  = "100"
	migrationRest  = time.Second
	migrationTries = 600
)

// SchemaError says that the database's schema is not the one of this program.
type SchemaError struct {
	// Has is the version of the database, 0 for none, Needs that of this program.
	Has, Needs int64
}

// Error says what to run instead.
func (e *SchemaError) Error() string {
	if e.Has > e.Needs {
		return fmt.Sprintf("the database has schema %d and this program knows those up to %d: "+
			"run the version that brought it there, or a newer one", e.Has, e.Needs)
	}
	return fmt.Sprintf("the database has schema %d and this program needs %d: "+
		"run the version of its servers, or start a server of this version first, which migrates", e.Has, e.Needs)
}

// Migrate brings the database at ownerURL to the newest schema. Processes that
// start together do it one after the other; where there is nothing to do it
// changes nothing. A newer schema than this program's is a *SchemaError. The login
// must own the database and may create roles; a
// sentence says what it lacks, also where a pooler keeps no sessions.
func Migrate(ctx context.Context, ownerURL string) (err error) {
	if err := checkSessions(ctx, ownerURL); err != nil {
		return err
	}
	sqldb, err := openOwner(ownerURL)
	if err != nil {
		return err
	}
	defer func() { _ = sqldb.Close() }()

	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(migrationLockEvery, migrationLockTries))
	if err != nil {
		return fmt.Errorf("making the migration lock: %w", err)
	}
	conn, err := sqldb.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connecting to migrate: %w", err)
	}
	defer func() { _ = conn.Close() }()
	// goose takes a lock only where it finds something to do; until another process
	// has migrated, nobody knows which schema that will be.
	if err := locker.SessionLock(ctx, conn); err != nil {
		return fmt.Errorf("waiting for another process that migrates: %w", err)
	}
	defer func() { err = errors.Join(err, locker.SessionUnlock(context.WithoutCancel(ctx), conn)) }()
	if is, err := readSchema(ctx, conn); err != nil {
		return err
	} else if is.Has > is.Needs {
		return &is
	} else if is.Has < is.Needs {
		if err := checkOwner(ctx, conn); err != nil {
			return err
		}
	}
	migrations, err := goose.NewProvider(goose.DialectPostgres, sqldb, schema.FS, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	return applyAll(ctx, migrations)
}

// applyAll applies the migrations that are to come. One that does not get its locks gives them up and is
// tried again: whoever uses the table, servers of the version before too, waits behind a migration that
// waits.
func applyAll(ctx context.Context, migrations *goose.Provider) error {
	for range migrationTries {
		_, err := migrations.Up(ctx)
		if err == nil {
			return nil
		}
		if !IsLockTimeout(err) {
			return sayMigration(err)
		}
		if err := signal.Sleep(ctx, signal.Jitter(migrationRest, 0.5)); err != nil {
			return err
		}
	}
	return errors.New("migrating the database: a table is used without a pause; look at pg_stat_activity for a long transaction")
}

// sayMigration names the migration that failed. Each is a transaction of its own.
func sayMigration(err error) error {
	if failed, ok := errors.AsType[*goose.PartialError](err); ok {
		return fmt.Errorf("the migration %s failed and changed nothing; those before it stay, and servers that run go on: %w",
			path.Base(failed.Failed.Source.Path), failed.Err)
	}
	return fmt.Errorf("migrating the database: %w", err)
}

// CheckSchema reports whether the database at ownerURL has this program's schema,
// a *SchemaError where it has not. It changes nothing.
func CheckSchema(ctx context.Context, ownerURL string) error {
	sqldb, err := openOwner(ownerURL)
	if err != nil {
		return err
	}
	defer func() { _ = sqldb.Close() }()
	is, err := readSchema(ctx, sqldb)
	if err == nil && is.Has != is.Needs {
		return &is
	}
	return err
}

func openOwner(ownerURL string) (*sql.DB, error) {
	cfg, err := pgx.ParseConfig(ownerURL)
	if err != nil {
		return nil, fmt.Errorf("the database address cannot be read: %w", err)
	}
	prepare(cfg)
	// A pooler would refuse it as a parameter of the connection.
	return stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SET lock_timeout = "+migrationWait)
		return err
	})), nil
}

// readSchema reads which schema the database has, and which this program needs.
func readSchema(ctx context.Context, conn database.DBTxConn) (is SchemaError, err error) {
	if is.Needs, err = SchemaVersion(); err != nil {
		return is, err
	}
	store, err := database.NewStore(database.DialectPostgres, goose.DefaultTablename)
	if err != nil {
		return is, err
	}
	is.Has, err = store.GetLatestVersion(ctx, conn)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == stateUndefinedTable || errors.Is(err, database.ErrVersionNotFound) {
		is.Has, err = 0, nil
	}
	if err != nil {
		return is, fmt.Errorf("reading the version of the schema: %w", err)
	}
	return is, nil
}

// SchemaVersion returns the newest schema that this program knows.
func SchemaVersion() (newest int64, err error) {
	names, err := fs.Glob(schema.FS, "*.sql")
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return 0, fmt.Errorf("the migration %s: %w", name, err)
		}
		newest = max(newest, version)
	}
	return newest, err
}
