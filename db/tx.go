package db

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/metrics"
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
	closeTimeout = 2 * time.Second
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

// Scope is what a transaction may see: a role, and the setting that its policies read.
type Scope struct{ role, setting, value string }

var (
	// System reads, in all workspaces, the few columns that show a loop where there is
	// work, and writes nothing.
	System = Scope{roleSystem, "app.workspace_id", ""}
	// None sees the tables of people and sessions, and no row of any table that belongs
	// to a workspace.
	None = Scope{roleApp, "app.workspace_id", ""}
)

// Workspace sees and writes the rows of one workspace.
func Workspace(id ids.ID) Scope { return Scope{roleApp, "app.workspace_id", id.String()} }

// Account is for a person who has not yet chosen a workspace: it shows the account's
// memberships and the workspaces they lead to.
func Account(id ids.ID) Scope { return Scope{roleApp, "app.account_id", id.String()} }

// Token is for a bearer whose workspace is not yet known: it shows the access token with
// that SHA-256 hash, if there is one.
func Token(hash []byte) Scope { return Scope{roleApp, "app.token_hash", hex.EncodeToString(hash)} }

// Option says how a transaction runs its statements.
type Option int

const (
	// OneRead is for one statement that only reads: it takes one round trip instead of
	// two, and a second one is refused.
	OneRead Option = iota
	// Snapshot is for what several statements read and must agree on: all of them see
	// the rows as they were at the first, and none may write.
	Snapshot
	// PlanAnew is for a list with filters and an order: each statement is planned for
	// its values, which say what index it needs.
	PlanAnew
	// NoWait is for what is done for many at once: it gives up where it would wait for a
	// lock for longer than 50 ms, since others are kept waiting with it; IsLockTimeout
	// reports it. Statements are planned once for a connection, whatever their values, since
	// of some the plan takes longer than the answer; and without scans of whole tables,
	// since the plan outlives the day when all are empty.
	NoWait
	// ByIndex is for tables that fill and empty faster than PostgreSQL counts their rows,
	// and for pages of logs, which are read before it has counted any: statements read
	// them in the order of an index, whatever was counted.
	ByIndex
	// Thorough is for a command that looks at every row: a statement may take ten minutes
	// instead of five seconds.
	Thorough
)

// terms are a scope and its options.
type terms struct {
	Scope
	timeouts
	once, snapshot bool
}

func newTerms(s Scope, options []Option) terms {
	t := terms{Scope: s, timeouts: usual}
	for _, o := range options {
		switch o {
		case OneRead:
			t.once = true
		case Snapshot:
			t.snapshot = true
		case PlanAnew:
			t.timeouts = planned
		case NoWait:
			t.timeouts = noWait
		case ByIndex:
			t.timeouts = byIndex
		case Thorough:
			t.timeouts = bulk
		}
	}
	return t
}

// timeouts is how long each statement may take and wait for a lock, whether it may be
// planned anew for its values, whether it may read a table from end to end, and whether
// through a bitmap, in the order of the table instead of an index.
type timeouts struct {
	takes                        time.Duration
	waits, plans, scans, bitmaps string
}

// In runs fn in a transaction that begins with its first statement. It commits when fn
// returns nil and rolls back on an error or a panic; fn must use tx for all it does and
// not keep it. Errors come through Fault; see ErrOutcomeUnknown for the one that says
// nothing about the outcome.
func (d *DB) In(ctx context.Context, scope Scope, fn func(tx Tx) error, options ...Option) (err error) {
	t := &transaction{db: d, terms: newTerms(scope, options)}
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

// refuse passes err through Fault. A deadline that was not the caller's is a
// database that is too slow to answer.
func refuse(ctx context.Context, err error) error {
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		metrics.DatabaseErrors.Of("timeout").Inc()
		return unavailable(err)
	}
	return Fault(err)
}
