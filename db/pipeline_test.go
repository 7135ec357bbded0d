package db_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Queries that are sent together run in their order, each sees what those before it
// did, and goes on with its own answer: at the beginning of a transaction and later.
func TestAsksThatAreSentTogether(t *testing.T) {
	d := dbtest.New(t)
	for name, before := range map[string]func(db.Tx) error{
		"at the beginning": func(db.Tx) error { return nil },
		"later":            func(tx db.Tx) error { _, err := tx.Exec(t.Context(), "SELECT 1"); return err },
	} {
		var told []string
		err := d.In(t.Context(), db.None, func(tx db.Tx) error {
			if err := before(tx); err != nil {
				return err
			}
			err := tx.Pipeline(t.Context(), func(tx db.Tx) error {
				told = append(told, "added")
				tag, err := tx.Exec(t.Context(), "INSERT INTO account (id, email, name) VALUES ($1, $2, 'Ada')", ids.New(), name)
				told = append(told, tag.String())
				return err
			}, func(db.Tx) error {
				told = append(told, "asked nothing")
				return nil
			}, func(tx db.Tx) error {
				var n int
				err := tx.QueryRow(t.Context(), "SELECT count(*) FROM account WHERE email = $1", name).Scan(&n)
				told = append(told, strings.Repeat("one row", n))
				return err
			}, func(tx db.Tx) error {
				rows, err := tx.Query(t.Context(), "SELECT 'many' UNION ALL SELECT 'rows'")
				if err != nil {
					return err
				}
				list, err := pgx.CollectRows(rows, pgx.RowTo[string])
				told = append(told, list...)
				return err
			})
			if err != nil {
				return err
			}
			return tx.QueryRow(t.Context(), "SELECT 1").Scan(new(int))
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff([]string{"added", "asked nothing", "INSERT 0 1", "one row", "many", "rows"}, told); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// Whichever of them fails, its error is returned, nobody is left waiting, nothing is
// saved, and the connection serves the next one.
func TestOneOfThemFails(t *testing.T) {
	d := dbtest.New(t)
	add := func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), "INSERT INTO account (id, email, name) VALUES ($1, 'ada@example.com', 'Ada')", ids.New())
		return err
	}
	own := errors.New("our own")
	for name, c := range map[string]struct {
		step func(db.Tx) error
		want string
	}{
		"a statement":                   {func(tx db.Tx) error { _, err := tx.Exec(t.Context(), "SELECT 1 / (SELECT 0)"); return err }, "division by zero"},
		"one that cannot be understood": {func(tx db.Tx) error { _, err := tx.Exec(t.Context(), "SELEC"); return err }, "syntax error"},
		"before its statement":          {func(db.Tx) error { return own }, "our own"},
		"after its statement":           {func(tx db.Tx) error { _, err := tx.Exec(t.Context(), "SELECT 1"); return errors.Join(err, own) }, "our own"},
		"a second statement": {func(tx db.Tx) error {
			_, err := tx.Exec(t.Context(), "SELECT 1")
			if err == nil {
				_, err = tx.Exec(t.Context(), "SELECT 2")
			}
			return err
		}, "second statement"},
		"rows that are left": {func(tx db.Tx) error {
			if _, err := tx.Query(t.Context(), "SELECT generate_series(1, 100000)"); err != nil { // what is tried
				return err
			}
			return own
		}, "our own"},
		"together in together": {func(tx db.Tx) error { return tx.Pipeline(t.Context(), add) }, "second statement"},
	} {
		for _, steps := range [][]func(db.Tx) error{{c.step}, {add, c.step}, {c.step, add}} {
			err := d.In(t.Context(), db.None, func(tx db.Tx) error { return tx.Pipeline(t.Context(), steps...) })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s fails: %v", name, err)
			}
			n, look := count(t, "account")
			if err := d.In(t.Context(), db.None, look); err != nil || *n != 0 {
				t.Fatalf("after %s: %d accounts, %v", name, *n, err)
			}
		}
	}
	if acquired, _, _ := d.Stat(); acquired != 0 {
		t.Errorf("%d connections were not given back", acquired)
	}
}

// A panic in an step is the caller's, as anywhere in a transaction.
func TestAPanicInAnAskThatIsSentTogether(t *testing.T) {
	d := dbtest.New(t)
	defer func() {
		if recover() != "boom" {
			t.Error("the panic was lost")
		}
		if acquired, _, _ := d.Stat(); acquired != 0 {
			t.Errorf("%d connections were not given back", acquired)
		}
	}()
	_ = d.In(t.Context(), db.None, func(tx db.Tx) error {
		return tx.Pipeline(t.Context(), func(tx db.Tx) error {
			_, err := tx.Exec(t.Context(), "SELECT 1")
			if err != nil {
				return err
			}
			panic("boom")
		}, func(tx db.Tx) error { _, err := tx.Exec(t.Context(), "SELECT 1"); return err })
	})
}
