package db

import (
	"context"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Pipeline lets each of the steps run until its statement, sends all statements in
// one round trip, and lets the steps go on one after another with the answers. Each
// queries once at most and reads its answer before it returns; a statement sees what
// those before it have done. The first error is returned; after it nothing more is
// sent or answered.
func (t *transaction) Pipeline(ctx context.Context, steps ...func(Tx) error) error {
	var list []*pipelined
	defer func() {
		for _, d := range list {
			d.stop()
		}
	}()
	var statements []statement
	for _, step := range steps {
		d := &pipelined{}
		d.next, d.stop = iter.Pull(func(yield func(statement) bool) {
			d.yield = yield
			d.err = step(d)
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
	t.await(len(list))
	var b pgx.Batch
	for _, s := range list {
		b.Queue(s.sql, s.args...)
	}
	return t.tx.SendBatch(ctx, &b), nil
}

// pipelined is the transaction as one of many steps has it: its statement waits until
// all are known.
type pipelined struct {
	yield   func(statement) bool
	next    func() (statement, bool)
	stop    func()
	answers pgx.BatchResults
	err     error
}

// wait gives the statement away; false where it is never sent.
func (d *pipelined) wait(sql string, args []any) bool { return d.yield(statement{sql, args}) }

// Exec gives the answer to the step's statement.
func (d *pipelined) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if !d.wait(sql, args) {
		return pgconn.CommandTag{}, pgx.ErrTxClosed
	}
	tag, err := d.answers.Exec()
	return tag, name(sql, err)
}

// Query gives the rows of the step's statement.
func (d *pipelined) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	if !d.wait(sql, args) {
		return nil, pgx.ErrTxClosed
	}
	rows, err := d.answers.Query()
	return nameRows(sql, rows, err)
}

// QueryRow gives the row of the step's statement.
func (d *pipelined) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	if !d.wait(sql, args) {
		return &firstRow{err: pgx.ErrTxClosed}
	}
	return &namedRow{d.answers.QueryRow(), sql}
}

// Pipeline cannot be had inside of itself.
func (d *pipelined) Pipeline(context.Context, ...func(Tx) error) error { return errAskedTwice }
