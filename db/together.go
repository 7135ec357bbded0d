package db

import (
	"context"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Together lets each of the asks run until its statement, sends all statements in
// one round trip, and lets the asks go on one after another with the answers. Each
// asks once at most and reads its answer before it returns; a statement sees what
// those before it have done. The first error is returned; after it nothing more is
// asked or answered.
func (t *transaction) Together(ctx context.Context, asks ...func(Tx) error) error {
	var list []*deferred
	defer func() {
		for _, d := range list {
			d.stop()
		}
	}()
	var statements []statement
	for _, ask := range asks {
		d := &deferred{}
		d.next, d.stop = iter.Pull(func(yield func(statement) bool) {
			d.yield = yield
			d.err = ask(d)
		})
		list = append(list, d)
		if s, asked := d.next(); asked {
			statements = append(statements, s)
		} else if d.err != nil {
			return d.err
		}
	}
	if len(statements) == 0 {
		return nil
	}
	results, err := t.send(ctx, statements)
	if err != nil {
		return err
	}
	defer func() { _ = results.Close() }()
	for _, d := range list {
		d.answers = results
		if _, again := d.next(); again {
			return errAskedTwice
		}
		if d.err != nil {
			return d.err
		}
	}
	return results.Close()
}

func (t *transaction) send(ctx context.Context, list []statement) (pgx.BatchResults, error) {
	if t.tx == nil {
		return t.begin(ctx, list...)
	}
	var b pgx.Batch
	for _, s := range list {
		b.Queue(s.sql, s.args...)
	}
	return t.tx.SendBatch(ctx, &b), nil
}

// deferred is the transaction as one of many asks has it: its statement waits until
// all are known.
type deferred struct {
	yield   func(statement) bool
	next    func() (statement, bool)
	stop    func()
	answers pgx.BatchResults
	err     error
}

// wait gives the statement away; false where it is never sent.
func (d *deferred) wait(sql string, args []any) bool { return d.yield(statement{sql, args}) }

// Exec gives the answer to the ask's statement.
func (d *deferred) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if !d.wait(sql, args) {
		return pgconn.CommandTag{}, pgx.ErrTxClosed
	}
	return d.answers.Exec()
}

// Query gives the rows of the ask's statement.
func (d *deferred) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	if !d.wait(sql, args) {
		return nil, pgx.ErrTxClosed
	}
	return d.answers.Query()
}

// QueryRow gives the row of the ask's statement.
func (d *deferred) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	if !d.wait(sql, args) {
		return &firstRow{err: pgx.ErrTxClosed}
	}
	return d.answers.QueryRow()
}

// Together cannot be had inside of itself.
func (d *deferred) Together(context.Context, ...func(Tx) error) error { return errAskedTwice }
