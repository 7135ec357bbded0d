package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"fleetboard/db/schema"
)

// A second process that starts at the same moment asks for the lock every
// second, for at most ten minutes.
const (
	migrationLockEvery = 1
	migrationLockTries = 600
)

// Migrate brings the database at ownerURL to the newest schema. Processes that
// start together do it one after the other; where there is nothing to do it
// changes nothing. The login must own the database and may create roles.
func Migrate(ctx context.Context, ownerURL string) error {
	cfg, err := pgx.ParseConfig(ownerURL)
	if err != nil {
		return fmt.Errorf("the database address cannot be read: %w", err)
	}
	prepare(cfg)
	sqldb := stdlib.OpenDB(*cfg)
	defer func() { _ = sqldb.Close() }()

	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(migrationLockEvery, migrationLockTries))
	if err != nil {
		return fmt.Errorf("making the migration lock: %w", err)
	}
	migrations, err := goose.NewProvider(goose.DialectPostgres, sqldb, schema.FS,
		goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	if _, err := migrations.Up(ctx); err != nil {
		return fmt.Errorf("migrating the database: %w", err)
	}
	return nil
}
