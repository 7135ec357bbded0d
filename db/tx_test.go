package db_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// addWorkspace makes a workspace with one product, as the application would.
func addWorkspace(t *testing.T, d *db.DB, slug string) ids.ID {
	t.Helper()
	ws := ids.New()
	err := d.In(t.Context(), db.Workspace(ws), func(tx db.Tx) error {
		if _, err := tx.Exec(t.Context(), "INSERT INTO workspace (id, slug, name) VALUES ($1, $2, $2)", ws, slug); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), "INSERT INTO product (workspace_id, id, name) VALUES ($1, $2, 'shop')", ws, ids.New())
		return err
	})
	if err != nil {
		t.Fatalf("adding workspace %s: %v", slug, err)
	}
	return ws
}

func count(t *testing.T, table string) (*int, func(db.Tx) error) {
	t.Helper()
	var n int
	return &n, func(tx db.Tx) error {
		return tx.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n)
	}
}

func TestWorkspacesDoNotSeeEachOther(t *testing.T) {
	d := dbtest.New(t)
	first, second := addWorkspace(t, d, "first"), addWorkspace(t, d, "second")
	for _, ws := range []ids.ID{first, second} {
		n, look := count(t, "product")
		if err := d.In(t.Context(), db.Workspace(ws), look); err != nil || *n != 1 {
			t.Errorf("products in one workspace: %d, %v; want 1", *n, err)
		}
	}
	n, look := count(t, "product")
	if err := d.In(t.Context(), db.None, look); err != nil || *n != 0 {
		t.Errorf("products in no workspace: %d, %v; want 0", *n, err)
	}
	err := d.In(t.Context(), db.Workspace(first), func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), "INSERT INTO product (workspace_id, id, name) VALUES ($1, $2, 'stolen')", second, ids.New())
		return err
	})
	if err == nil {
		t.Error("a row was written into another workspace")
	}
}

func TestScopesOfPeopleTokensAndSystem(t *testing.T) {
	d := dbtest.New(t)
	ws, other := addWorkspace(t, d, "mine"), addWorkspace(t, d, "theirs")
	account, hash := ids.New(), []byte{0, 1, 0xfe, 0xff}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(d.In(t.Context(), db.None, func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), "INSERT INTO account (id, email, name) VALUES ($1, 'ada@example.com', 'Ada')", account)
		return err
	}))
	must(d.In(t.Context(), db.Workspace(ws), func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), "INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, 'owner')", ws, account)
		if err != nil {
			return err
		}
		_, err = tx.Exec(t.Context(), `INSERT INTO access_token (workspace_id, id, kind, name, token_hash, hint, created_by)
			VALUES ($1, $2, 'enrolment', 'ci', $3, 'fb', 'test')`, ws, ids.New(), hash)
		return err
	}))
	workspaces := func(seen *[]ids.ID) func(db.Tx) error {
		return func(tx db.Tx) error {
			rows, _ := tx.Query(t.Context(), "SELECT id FROM workspace ORDER BY id")
			var err error
			*seen, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
			return err
		}
	}
	var seen []ids.ID
	must(d.In(t.Context(), db.Account(account), workspaces(&seen)))
	if diff := cmp.Diff([]ids.ID{ws}, seen); diff != "" {
		t.Errorf("workspaces of an account (-want +got):\n%s", diff)
	}
	must(d.In(t.Context(), db.System, workspaces(&seen)))
	if diff := cmp.Diff([]ids.ID{ws, other}, seen); diff != "" {
		t.Errorf("workspaces of the system (-want +got):\n%s", diff)
	}
	if err := d.In(t.Context(), db.System, func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), "SELECT name FROM workspace")
		return err
	}); err == nil {
		t.Error("the system role reads more than it needs")
	}
	for _, c := range []struct {
		hash []byte
		want int
	}{{hash, 1}, {[]byte{1}, 0}, {nil, 0}} {
		n, look := count(t, "access_token")
		if err := d.In(t.Context(), db.Token(c.hash), look); err != nil || *n != c.want {
			t.Errorf("tokens with hash %x: %d, %v; want %d", c.hash, *n, err, c.want)
		}
	}
}

// The limits and the role travel with the transaction and end with it.
func TestTransactionsCarryTheirLimits(t *testing.T) {
	d := dbtest.New(t)
	var role, statement, lock, idle string
	err := d.In(t.Context(), db.None, func(tx db.Tx) error {
		return tx.QueryRow(t.Context(), `SELECT current_user, current_setting('statement_timeout'),
			current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout')`).
			Scan(&role, &statement, &lock, &idle)
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"fleetboard_app", "5s", "2s", "10s"}, []string{role, statement, lock, idle}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What queries once reads once: it writes nothing, and a second query is refused
// and costs the connection nothing.
func TestOnceIsOneStatementThatReads(t *testing.T) {
	d := dbtest.New(t)
	ws := addWorkspace(t, d, "first")
	var read string
	err := d.In(t.Context(), db.Workspace(ws), func(tx db.Tx) error {
		rows, _ := tx.Query(t.Context(), "SELECT name FROM product UNION ALL SELECT 'and another' ORDER BY 1")
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		read = strings.Join(names, ", ")
		return err
	}, db.OneRead)
	if err != nil || read != "and another, shop" {
		t.Errorf("read %q, %v", read, err)
	}
	err = d.In(t.Context(), db.Workspace(ws), func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), "DELETE FROM product")
		return err
	}, db.OneRead)
	if err == nil {
		t.Error("a statement that announced to read has written")
	}
	err = d.In(t.Context(), db.Workspace(ws), func(tx db.Tx) error {
		if _, err := tx.Exec(t.Context(), "SELECT 1"); err != nil {
			return err
		}
		return tx.QueryRow(t.Context(), "SELECT 2").Scan(new(int))
	}, db.OneRead)
	if err == nil || !strings.Contains(err.Error(), "second statement") {
		t.Errorf("a second statement: %v", err)
	}
	n, look := count(t, "product")
	if err := d.In(t.Context(), db.Workspace(ws), look); err != nil || *n != 1 {
		t.Errorf("afterwards there are %d products, %v", *n, err)
	}
}

// Each way to ask first: the answer, an error of the statement, and whether the
// transaction goes on.
func TestTheFirstStatementOfATransaction(t *testing.T) {
	d := dbtest.New(t)
	for name, ask := range map[string]func(db.Tx, string) error{
		"exec": func(tx db.Tx, sql string) error { _, err := tx.Exec(t.Context(), sql); return err },
		"row":  func(tx db.Tx, sql string) error { return tx.QueryRow(t.Context(), sql).Scan(new(int)) },
		"rows": func(tx db.Tx, sql string) error {
			rows, err := tx.Query(t.Context(), sql)
			if err != nil {
				return err
			}
			list, err := pgx.CollectRows(rows, pgx.RowTo[int])
			if err == nil && len(list) != 1 {
				t.Errorf("got %v", list)
			}
			return err
		},
		"rows that are not read": func(tx db.Tx, sql string) error {
			rows, err := tx.Query(t.Context(), sql)
			if err != nil {
				return err
			}
			rows.Close()
			return rows.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := d.In(t.Context(), db.None, func(tx db.Tx) error {
				for range 2 {
					if err := ask(tx, "SELECT 1"); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Errorf("twice: %v", err)
			}
			for _, sql := range []string{"SELECT 1 / (SELECT 0)", "SELECT nothing"} {
				if err := d.In(t.Context(), db.None, func(tx db.Tx) error { return ask(tx, sql) }); err == nil {
					t.Errorf("%s gives no error", sql)
				}
				if err := d.Ping(t.Context()); err != nil {
					t.Errorf("after %s: %v", sql, err)
				}
			}
		})
	}
	if acquired, _, _ := d.Stat(); acquired != 0 {
		t.Errorf("%d connections were not given back", acquired)
	}
}

func TestNothingIsSavedAfterAnErrorOrAPanic(t *testing.T) {
	d := dbtest.New(t)
	add := func(tx db.Tx) {
		if _, err := tx.Exec(t.Context(), "INSERT INTO account (id, email, name) VALUES ($1, 'ada@example.com', 'Ada')", ids.New()); err != nil {
			t.Error(err)
		}
	}
	refusal := fault.New(fault.NotFound, "There is no such job.")
	if err := d.In(t.Context(), db.None, func(tx db.Tx) error { add(tx); return refusal }); !errors.Is(err, refusal) {
		t.Errorf("got %v, want the caller's own error", err)
	}
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("the panic did not go on")
			}
		}()
		_ = d.In(t.Context(), db.None, func(tx db.Tx) error { add(tx); panic("boom") })
	}()
	ctx, cancel := context.WithCancel(t.Context())
	if err := d.In(ctx, db.None, func(tx db.Tx) error { add(tx); cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("after a cancel: %v, want context.Canceled", err)
	}
	n, look := count(t, "account")
	if err := d.In(t.Context(), db.None, look); err != nil || *n != 0 {
		t.Errorf("%d accounts were saved (%v), want none", *n, err)
	}
	if acquired, _, _ := d.Stat(); acquired != 0 {
		t.Errorf("%d connections are still in use", acquired)
	}
}

func TestUUIDsInEveryShape(t *testing.T) {
	d := dbtest.New(t)
	one, list := ids.New(), []uuid.UUID{ids.New(), ids.New()}
	err := d.In(t.Context(), db.None, func(tx db.Tx) error {
		var gotOne uuid.UUID
		var gotList, empty []uuid.UUID
		var null, notNull *uuid.UUID
		var nullable uuid.NullUUID
		err := tx.QueryRow(t.Context(), "SELECT $1::uuid, $2::uuid[], $3::uuid, $4::uuid, $5::uuid[], $3::uuid",
			one, list, (*uuid.UUID)(nil), &one, []uuid.UUID{}).Scan(&gotOne, &gotList, &null, &notNull, &empty, &nullable)
		if err != nil {
			return err
		}
		if gotOne != one || !cmp.Equal(gotList, list) || null != nil || notNull == nil || *notNull != one || len(empty) != 0 || nullable.Valid {
			t.Errorf("got %v %v %v %v %v %v", gotOne, gotList, null, notNull, empty, nullable)
		}
		var matches int
		return tx.QueryRow(t.Context(), "SELECT count(*) FROM unnest($1::uuid[]) AS u WHERE u = ANY($2)", list, list[:1]).Scan(&matches)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestABrokenConnectionIsUnavailable(t *testing.T) {
	d := dbtest.New(t)
	owner := dbtest.Owner(t, d)
	err := d.In(t.Context(), db.None, func(tx db.Tx) error {
		var pid int
		if err := tx.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
			return err
		}
		if _, err := owner.Exec(t.Context(), "SELECT pg_terminate_backend($1, 5000)", pid); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), "SELECT 1")
		return err
	})
	if !fault.Is(err, fault.Unavailable) {
		t.Fatalf("got %v, want unavailable", err)
	}
	if errors.Is(err, db.ErrOutcomeUnknown) {
		t.Error("nothing was committed, yet the outcome is said to be unknown")
	}
	if err := d.Ping(t.Context()); err != nil {
		t.Errorf("the pool did not heal: %v", err)
	}
}

func TestACommitWithoutAnAnswerSaysSo(t *testing.T) {
	d := dbtest.New(t)
	owner := dbtest.Owner(t, d)
	err := d.In(t.Context(), db.None, func(tx db.Tx) error {
		var pid int
		if err := tx.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
			return err
		}
		_, err := owner.Exec(t.Context(), "SELECT pg_terminate_backend($1, 5000)", pid)
		return err
	})
	if !fault.Is(err, fault.Unavailable) || !errors.Is(err, db.ErrOutcomeUnknown) {
		t.Fatalf("got %v, want an unknown outcome", err)
	}
}

func TestARefusedCommitIsKnown(t *testing.T) {
	d := dbtest.New(t)
	owner := dbtest.Owner(t, d)
	for _, s := range []string{
		"ALTER TABLE account DROP CONSTRAINT account_email_key",
		"ALTER TABLE account ADD CONSTRAINT account_email_key UNIQUE (email) DEFERRABLE INITIALLY DEFERRED",
	} {
		if _, err := owner.Exec(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	err := d.In(t.Context(), db.None, func(tx db.Tx) error {
		for range 2 {
			if _, err := tx.Exec(t.Context(), "INSERT INTO account (id, email, name) VALUES ($1, 'ada@example.com', 'Ada')", ids.New()); err != nil {
				return err
			}
		}
		return nil
	})
	if !fault.Is(err, fault.AlreadyExists) || errors.Is(err, db.ErrOutcomeUnknown) {
		t.Fatalf("got %v, want already_exists", err)
	}
}

func TestAFullPoolIsUnavailable(t *testing.T) {
	t.Parallel()
	d, err := db.Open(t.Context(), db.Options{OwnerURL: dbtest.URL(t), MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	err = d.In(t.Context(), db.None, func(tx db.Tx) error {
		if _, err := tx.Exec(t.Context(), "SELECT 1"); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		return d.Ping(ctx)
	})
	if !fault.Is(err, fault.Unavailable) {
		t.Fatalf("got %v, want unavailable", err)
	}
}

// After a restart of the server every pooled connection is dead. None of the
// next requests meets one of them.
func TestDeadConnectionsOfThePoolArePassedOver(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	owner := dbtest.Owner(t, d)
	var all errgroup.Group
	var inside sync.WaitGroup
	inside.Add(6)
	for range 6 {
		all.Go(func() error {
			return d.In(t.Context(), db.None, func(tx db.Tx) error {
				_, err := tx.Exec(t.Context(), "SELECT 1")
				inside.Done()
				inside.Wait()
				return err
			})
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	// At once: the pool itself looks only at connections that lay idle for a second.
	_, err := owner.Exec(t.Context(), `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	if err != nil {
		t.Fatal(err)
	}
	if _, idle, _ := d.Stat(); idle < 6 {
		t.Fatalf("only %d connections were idle; the test is wrong", idle)
	}
	for i := range 6 {
		if err := d.Ping(t.Context()); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
}
