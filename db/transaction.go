package db

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// transaction begins with its first statement: BEGIN, the scope and the statement
// are one round trip. One without a statement takes no connection.
type transaction struct {
	db *DB
	terms

	conn *pgxpool.Conn // nil until the first statement
	// watchdog breaks the connection where an answer does not come: nil like conn.
	watchdog *time.Timer
	tx       pgx.Tx // nil with once: what is sent together is a transaction of its own
}

var errAskedTwice = errors.New("db: a second statement where one was announced")

// statement is what is sent.
type statement struct {
	sql  string
	args []any
}

// Exec runs a statement that gives no rows.
func (t *transaction) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if t.tx != nil {
		t.await(1)
		tag, err := t.tx.Exec(ctx, sql, args...)
		return tag, name(sql, err)
	}
	first, err := t.begin(ctx, statement{sql, args})
	if err != nil {
		return pgconn.CommandTag{}, name(sql, err)
	}
	tag, err := first.Exec()
	return tag, name(sql, cmp.Or(err, first.Close()))
}

// Query runs a statement; the transaction is free again when its rows are read or
// closed.
func (t *transaction) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if t.tx != nil {
		t.await(1)
		rows, err := t.tx.Query(ctx, sql, args...)
		return nameRows(sql, rows, err)
	}
	first, err := t.begin(ctx, statement{sql, args})
	if err != nil {
		return nil, name(sql, err)
	}
	rows, err := first.Query()
	if err != nil {
		return nil, name(sql, cmp.Or(err, first.Close()))
	}
	return nameRows(sql, &firstRows{Rows: rows, batch: first}, nil)
}

// QueryRow runs a statement that gives one row; an error of it comes with Scan.
func (t *transaction) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if t.tx != nil {
		t.await(1)
		return &namedRow{t.tx.QueryRow(ctx, sql, args...), sql}
	}
	first, err := t.begin(ctx, statement{sql, args})
	return &namedRow{&firstRow{batch: first, err: err}, sql}
}

// begin sends the scope and the first statements; what comes next from the batch is
// their answers. A connection that broke while it lay idle is put aside and the next
// one taken, for nothing was saved by it: after a restart of the server that is the
// whole pool.
func (t *transaction) begin(ctx context.Context, first ...statement) (pgx.BatchResults, error) {
	if t.conn != nil {
		return nil, errAskedTwice
	}
	for try := int32(0); ; try++ {
		conn, err := t.db.acquire(ctx)
		if err != nil {
			return nil, err
		}
		socket := conn.Conn().PgConn().Conn()
		watchdog := time.AfterFunc(t.patience(len(first)), func() { _ = socket.Close() })
		results, err := t.open(ctx, conn.Conn(), first)
		if err == nil {
			t.conn, t.tx, t.watchdog = conn, results.Tx(), watchdog
			return results, nil
		}
		// Behind a server that does not answer the next connection would not be answered either.
		broken := watchdog.Stop() && conn.Conn().IsClosed() && ctx.Err() == nil
		conn.Release() // which ends one that is not at rest
		if !broken || try >= t.db.pool.Stat().MaxConns() {
			return nil, err
		}
	}
}

// patience returns how long the answer to so many statements is awaited.
func (t *transaction) patience(statements int) time.Duration {
	return time.Duration(statements)*t.takes + answerGrace
}

// await gives so many statements that are sent next their time.
func (t *transaction) await(statements int) { t.watchdog.Reset(t.patience(statements)) }

// open reads the answers up to the first statement's.
func (t *transaction) open(ctx context.Context, conn *pgx.Conn, first []statement) (pgx.BatchResults, error) {
	var b pgx.Batch
	s, only := t.terms, "on"
	switch {
	case s.snapshot:
		b.BeginTx(pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	case !s.once:
		b.BeginTx(pgx.TxOptions{})
		only = "off"
	}
	b.Queue(setScope, s.role, s.setting, s.value, strconv.FormatInt(s.takes.Milliseconds(), 10), s.waits, s.plans, s.scans, s.bitmaps, only)
	ours := b.Len()
	for _, f := range first {
		b.Queue(f.sql, f.args...)
	}
	results := conn.SendBatch(ctx, &b)
	for range ours {
		if _, err := results.Exec(); err != nil {
			return nil, cmp.Or(err, results.Close())
		}
	}
	return results, nil
}

// commit ends the transaction, if it has begun.
func (t *transaction) commit(ctx context.Context) error {
	if t.tx == nil {
		return nil
	}
	t.await(1)
	return commitOn(ctx, t.conn, t.tx)
}

// rollback undoes the transaction even where ctx has ended. A connection that cannot
// roll back is closed by pgx, which the server takes as a rollback too.
func (t *transaction) rollback(ctx context.Context) {
	if t.tx == nil {
		return
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_ = t.tx.Rollback(limited)
}

// release gives the connection back, if one was taken.
func (t *transaction) release() {
	if t.conn != nil {
		t.watchdog.Stop()
		t.conn.Release()
	}
}

// firstRows are the rows of a first statement.
type firstRows struct {
	pgx.Rows
	batch pgx.BatchResults
	err   error
}

// Next reads the next row; behind the last one the connection is free again.
func (r *firstRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

// Close frees the connection for the next statement.
func (r *firstRows) Close() {
	r.Rows.Close()
	r.err = r.batch.Close()
}

// Err returns what ended the rows early.
func (r *firstRows) Err() error {
	if err := r.Rows.Err(); err != nil {
		return err
	}
	return r.err
}

// firstRow is the row of a first statement.
type firstRow struct {
	batch pgx.BatchResults
	err   error
}

// Scan reads the row and frees the connection for the next statement.
func (r *firstRow) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	return cmp.Or(r.batch.QueryRow().Scan(dest...), r.batch.Close())
}
