package db

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// notifiedWithin is how long a notification may take that a pooler does not swallow.
const notifiedWithin = 2 * time.Second

// isPooled reports whether a pooler stands between a connection and PostgreSQL: the process
// that the connection learned of is not the one that answers.
func isPooled(ctx context.Context, conn *pgx.Conn) (bool, error) {
	var pid uint32
	err := conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&pid)
	return err == nil && pid != conn.PgConn().PID(), err
}

// adaptToPooler has connections with cfg name no statements where a pooler stands between:
// the next transaction may be at another process of PostgreSQL, which does not know them.
// What the address sets stays.
func adaptToPooler(ctx context.Context, cfg *pgx.ConnConfig) error {
	if cfg.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
		return nil
	}
	probe := cfg.Copy()
	probe.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(ctx, probe)
	if err != nil {
		return err
	}
	defer closeQuietly(ctx, conn)
	pooled, err := isPooled(ctx, conn)
	if pooled {
		cfg.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return err
}

var errPooledOwner = errors.New("DATABASE_URL leads through a pooler that keeps no sessions, which LISTEN and migrations need: " +
	"name PostgreSQL itself there, and the pooler in FLEETBOARD_APP_DATABASE_URL")

// checkSessions refuses an owner's address behind which a session is not kept.
func checkSessions(ctx context.Context, ownerURL string) error {
	cfg, err := pgx.ParseConfig(ownerURL)
	if err != nil {
		return fmt.Errorf("the database address cannot be read: %w", err)
	}
	prepare(cfg)
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	hearer, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("connecting to migrate: %w", err)
	}
	defer closeQuietly(ctx, hearer)
	if pooled, err := isPooled(ctx, hearer); err != nil || !pooled {
		return err
	}
	sayer, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("connecting to migrate: %w", err)
	}
	defer closeQuietly(ctx, sayer)
	channel := "fleetboard_probe_" + rand.Text()
	if _, err := hearer.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	if _, err := sayer.Exec(ctx, "NOTIFY "+channel); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, notifiedWithin)
	defer cancel()
	if _, err := hearer.WaitForNotification(limited); err != nil && ctx.Err() == nil {
		return errPooledOwner
	}
	return ctx.Err()
}
