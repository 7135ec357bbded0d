package db

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// Tx is a transaction, as sqlc's queries take it. It ends with the function that it
// was given to.
type Tx interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	// Pipeline sends the statements of several steps in one round trip. Each step runs
	// up to its one statement, and goes on with the answer when all were sent; the
	// statements are run one after another. The first error is returned.
	Pipeline(ctx context.Context, steps ...func(Tx) error) error
}

var (
	usual   = timeouts{5 * time.Second, "2s", "auto", "on", "on"}
	planned = timeouts{5 * time.Second, "2s", "force_custom_plan", "on", "on"}
	noWait  = timeouts{5 * time.Second, "50ms", "force_generic_plan", "off", "on"}
	byIndex = timeouts{5 * time.Second, "2s", "auto", "off", "off"}
	bulk    = timeouts{10 * time.Minute, "2s", "auto", "on", "on"}
)

const (
	// commitTimeout bounds the wait for a COMMIT's answer. The caller's context
	// does not: an answer that is not awaited leaves the outcome unknown.
	commitTimeout = 5 * time.Second
	closeTimeout  = 2 * time.Second
	// answerGrace is how much longer than its statements may take an answer is awaited: a
	// server that is there has cancelled them by then, or ended the idle transaction.
	answerGrace = 5 * time.Second
)

// setScope stands before the first statement, in the same round trip. Role, limits
// and scope end with the transaction. Setting names are fixed words of this file.
// What is read-only stays so: a standby, and a database that somebody keeps from changes.
// The costs are those of tables that are cached or on a disk without a head, which
// every query here was planned with; a server's own defaults are for other disks.
const setScope = `SELECT set_config('role', $1, true), set_config($2, $3, true),
	set_config('statement_timeout', $4, true), set_config('lock_timeout', $5, true), set_config('plan_cache_mode', $6, true),
	set_config('enable_seqscan', $7, true), set_config('enable_bitmapscan', $8, true),
	set_config('transaction_read_only', CASE $9 WHEN 'on' THEN 'on' ELSE current_setting('transaction_read_only') END, true),
	set_config('idle_in_transaction_session_timeout', '10s', true), set_config('random_page_cost', '1.1', true),
	set_config('jit', 'off', true)`

// scope is what a transaction may see: a role, and the setting its policies read;
// and its timeouts.
type scope struct {
	role, setting, value string
	timeouts
	once     bool // it is one statement that reads
	snapshot bool // it only reads, all of it as it was at the first statement
}

// timeouts is how long each statement may take and wait for a lock, whether it may be
// planned anew for its values, whether it may read a table from end to end, and whether
// through a bitmap, in the order of the table instead of an index.
type timeouts struct {
	takes                        time.Duration
	waits, plans, scans, bitmaps string
}

// InWorkspace runs fn in a transaction that sees and writes the rows of one
// workspace. It commits when fn returns nil and rolls back on an error or a
// panic; fn must use tx for all it does and not keep it. Errors come through
// Fault; see ErrOutcomeUnknown for the one that says nothing about the outcome.
func (d *DB) InWorkspace(ctx context.Context, ws ids.ID, fn func(Tx) error) error {
	return d.in(ctx, scope{roleApp, "app.workspace_id", ws.String(), usual, false, false}, fn)
}

// InWorkspaceNoWait is InWorkspace for what is done for many at once: it gives up
// where it would wait for a lock for longer than 50 ms, since others are kept waiting
// with it; IsLockTimeout tells. Its statements are planned once for a connection,
// whatever their values, since of some the plan takes longer than the answer; and
// without scans of whole tables, since the plan outlives the day when all are empty.
func (d *DB) InWorkspaceNoWait(ctx context.Context, ws ids.ID, fn func(Tx) error) error {
	return d.in(ctx, scope{roleApp, "app.workspace_id", ws.String(), noWait, false, false}, fn)
}

// InWorkspaceByIndex is InWorkspace for tables that fill and empty faster than
// PostgreSQL counts their rows, and for pages of logs, which are read before it has
// counted any: its statements read them in the order of an index, whatever was counted.
func (d *DB) InWorkspaceByIndex(ctx context.Context, ws ids.ID, fn func(Tx) error) error {
	return d.in(ctx, scope{roleApp, "app.workspace_id", ws.String(), byIndex, false, false}, fn)
}

// InWorkspaceSnapshot is InWorkspace for what several statements read and must agree
// on: all of them see the rows as they were at the first, and none may write.
func (d *DB) InWorkspaceSnapshot(ctx context.Context, ws ids.ID, fn func(Tx) error) error {
	return d.in(ctx, scope{roleApp, "app.workspace_id", ws.String(), usual, false, true}, fn)
}

// ListInWorkspace is InWorkspaceSnapshot for a list with filters and an order: each
// statement is planned for its values, which say what index it needs.
func (d *DB) ListInWorkspace(ctx context.Context, ws ids.ID, fn func(Tx) error) error {
	return d.in(ctx, scope{roleApp, "app.workspace_id", ws.String(), planned, false, true}, fn)
}

// InWorkspaceThorough is InWorkspace for a command that looks at every row: a
// statement may take ten minutes instead of five seconds.
func (d *DB) InWorkspaceThorough(ctx context.Context, ws ids.ID, fn func(Tx) error) error {
	return d.in(ctx, scope{roleApp, "app.workspace_id", ws.String(), bulk, false, false}, fn)
}

// OnceInWorkspace is InWorkspace for one statement that only reads: it takes one
// round trip instead of two. fn must not step twice.
func (d *DB) OnceInWorkspace(ctx context.Context, ws ids.ID, fn func(Tx) error) error {
	return d.in(ctx, scope{roleApp, "app.workspace_id", ws.String(), usual, true, false}, fn)
}

// InAccount is InWorkspace for a person who has not yet chosen a workspace: it
// shows the account's memberships and the workspaces they lead to.
func (d *DB) InAccount(ctx context.Context, account ids.ID, fn func(Tx) error) error {
	return d.in(ctx, scope{roleApp, "app.account_id", account.String(), usual, false, false}, fn)
}

// InToken is InWorkspace for a bearer whose workspace is not yet known: it shows
// the access token with that SHA-256 hash, if there is one.
func (d *DB) InToken(ctx context.Context, hash []byte, fn func(Tx) error) error {
	return d.in(ctx, scope{roleApp, "app.token_hash", hex.EncodeToString(hash), usual, false, false}, fn)
}

// OnceInToken is InToken for one statement that only reads; see OnceInWorkspace.
func (d *DB) OnceInToken(ctx context.Context, hash []byte, fn func(Tx) error) error {
	return d.in(ctx, scope{roleApp, "app.token_hash", hex.EncodeToString(hash), usual, true, false}, fn)
}

// InSystem runs fn with the system role: it reads, in all workspaces, the few
// columns that tell a loop where there is work, and writes nothing.
func (d *DB) InSystem(ctx context.Context, fn func(Tx) error) error {
	return d.in(ctx, scope{roleSystem, "app.workspace_id", "", usual, false, false}, fn)
}

// InNone runs fn in no workspace: it sees the tables of people and sessions,
// and no row of any table that belongs to a workspace.
func (d *DB) InNone(ctx context.Context, fn func(Tx) error) error {
	return d.in(ctx, scope{roleApp, "app.workspace_id", "", usual, false, false}, fn)
}

// OnceInNone is InNone for one statement that only reads; see OnceInWorkspace.
func (d *DB) OnceInNone(ctx context.Context, fn func(Tx) error) error {
	return d.in(ctx, scope{roleApp, "app.workspace_id", "", usual, true, false}, fn)
}

// in runs fn in a transaction that begins with its first statement.
func (d *DB) in(ctx context.Context, s scope, fn func(Tx) error) (err error) {
	t := &transaction{db: d, scope: s}
	defer t.release()
	done := false
	defer func() {
		// Also on a panic and on runtime.Goexit, which go on afterwards.
		if !done {
			t.rollback(ctx)
		}
	}()
	if err := fn(t); err != nil {
		return refuse(ctx, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	done = true
	return t.commit(ctx)
}

// commit ends tx and tells a refusal by the server, after which nothing was
// saved, from silence, after which nobody knows.
func commit(ctx context.Context, tx pgx.Tx) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	err := tx.Commit(limited)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrTxCommitRollback) || refusedByServer(err):
		return Fault(err)
	default:
		return outcomeUnknown(err)
	}
}

// refuse passes err through Fault. A deadline that was not the caller's is a
// database that is too slow to answer.
func refuse(ctx context.Context, err error) error {
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return unavailable(err)
	}
	return Fault(err)
}
