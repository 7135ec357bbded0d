package db_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

func TestFault(t *testing.T) {
	state := func(code string) error { return fmt.Errorf("saving: %w", &pgconn.PgError{Code: code}) }
	unique := func(name string) error { return &pgconn.PgError{Code: "23505", ConstraintName: name} }
	const unchanged = fault.Code("")
	for _, c := range []struct {
		name string
		err  error
		want fault.Code
	}{
		{"a known constraint", unique("account_email_key"), fault.AlreadyExists},
		{"an unknown constraint", unique("job_pkey"), unchanged},
		{"a check", state("23514"), unchanged},
		{"a NUL character", state("22021"), fault.Malformed},
		{"a NUL character in JSON", state("22P05"), fault.Malformed},
		{"serialization", state("40001"), fault.Unavailable},
		{"deadlock", state("40P01"), fault.Unavailable},
		{"lock timeout", state("55P03"), fault.Unavailable},
		{"statement timeout", state("57014"), fault.Unavailable},
		{"idle in transaction", state("25P03"), fault.Unavailable},
		{"shutdown", state("57P01"), fault.Unavailable},
		{"starting", state("57P03"), fault.Unavailable},
		{"too many connections", state("53300"), fault.Unavailable},
		{"connection lost", state("08006"), fault.Unavailable},
		{"syntax", state("42601"), unchanged},
		{"end of stream", io.ErrUnexpectedEOF, fault.Unavailable},
		{"network", &net.OpError{Op: "read", Err: errors.New("reset by peer")}, fault.Unavailable},
		{"no rows", pgx.ErrNoRows, unchanged},
		{"cancelled", context.Canceled, unchanged},
		{"deadline", fmt.Errorf("x: %w", context.DeadlineExceeded), unchanged},
	} {
		got := db.Fault(c.err)
		switch {
		case c.want == unchanged && got != c.err: //nolint:errorlint // the very same error
			t.Errorf("%s: became %v", c.name, got)
		case c.want != unchanged && (!fault.Is(got, c.want) || !errors.Is(got, c.err)):
			t.Errorf("%s: %v, want %s with its cause", c.name, got, c.want)
		}
	}
	if db.Fault(nil) != nil {
		t.Error("no error became one")
	}
	refusal := fault.Wrap(state("40001"), fault.NotFound, "There is no such job.")
	if got := db.Fault(refusal); got != error(refusal) { //nolint:errorlint // the very same error
		t.Errorf("a refusal became %v", got)
	}
}

// The names in the table are those of the schema, or no refusal would ever show.
func TestConstraintsOfTheTableExist(t *testing.T) {
	d := dbtest.New(t)
	owner := dbtest.Owner(t, d)
	for _, name := range db.KnownConstraints() {
		var there bool
		err := owner.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_class WHERE relname = $1 AND relkind = 'i')
			OR EXISTS (SELECT FROM pg_constraint WHERE conname = $1)`, name).Scan(&there)
		if err != nil || !there {
			t.Errorf("there is no unique index and no constraint %s (%v)", name, err)
		}
	}
}

func TestRealErrorsOfTheServer(t *testing.T) {
	d := dbtest.New(t)
	account := func(email string) error {
		return d.In(t.Context(), db.None, func(tx db.Tx) error {
			_, err := tx.Exec(t.Context(), "INSERT INTO account (id, email, name) VALUES ($1, $2, 'Ada')", ids.New(), email)
			return err
		})
	}
	if err := account("ada@example.com"); err != nil {
		t.Fatal(err)
	}
	if err := account("ada@example.com"); !fault.Is(err, fault.AlreadyExists) {
		t.Errorf("the same email address again: %v", err)
	}
	if err := account("a\x00@example.com"); !fault.Is(err, fault.Malformed) {
		t.Errorf("a NUL character: %v", err)
	}
	err := d.In(t.Context(), db.None, func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), "SET LOCAL statement_timeout = '10ms'")
		if err != nil {
			return err
		}
		_, err = tx.Exec(t.Context(), "SELECT pg_sleep(10)")
		return err
	})
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("a statement over its time: %v", err)
	}
}
