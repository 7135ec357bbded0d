package dbtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
)

const (
	// testConns is the pool of one test: many tests run at once on one server.
	testConns = 8
	// testPatience is how long a test waits for one of them: a machine may be busy
	// with other tests.
	testPatience = time.Minute
)

// template is the name of the migrated template, made once in a process.
var template = sync.OnceValues(func() (string, error) { return migrated(context.Background()) })

// owners remembers the owner's address of each open database.
var owners sync.Map // *db.DB -> string

// New gives the test a fresh, migrated and empty database, with the rights of
// the application. It is dropped when the test ends.
func New(t testing.TB) *db.DB {
	t.Helper()
	return Open(t, db.Options{OwnerURL: URL(t), MaxConns: testConns, AcquireTimeout: testPatience})
}

// Open opens a database that URL made, until the test ends.
func Open(t testing.TB, o db.Options) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), o)
	if err != nil {
		t.Fatalf("dbtest: opening the database: %v", err)
	}
	owners.Store(d, o.OwnerURL)
	t.Cleanup(func() {
		owners.Delete(d)
		d.Close()
	})
	return d
}

// URL gives the owner's address of a fresh, migrated and empty database, for
// tests that start the whole application. It is dropped when the test ends.
func URL(t testing.TB) string {
	t.Helper()
	// A context of its own, since a test's has ended when its clean-up runs.
	return untilTheEnd(t)(Create(context.Background()))
}

// untilTheEnd returns the address of a database that was made, and drops it when the test ends.
func untilTheEnd(t testing.TB) func(url string, drop func() error, err error) string {
	return func(url string, drop func() error, err error) string {
		t.Helper()
		if err != nil {
			t.Fatalf("dbtest: %v", err)
		}
		t.Cleanup(func() {
			if err := drop(); err != nil {
				t.Errorf("dbtest: %v", err)
			}
		})
		return url
	}
}

// Create is URL for what outlives a test; drop removes the database.
func Create(ctx context.Context) (url string, drop func() error, err error) {
	from, err := template()
	if err != nil {
		return "", nil, err
	}
	return clone(ctx, from)
}

// Filled is New with the rows that the owner's statements make. They are run once for all
// tests and runs that name the same ones: times in them are hours old, and what a test is
// about to end has to be in a far future.
func Filled(t testing.TB, statements ...string) *db.DB {
	t.Helper()
	ctx := context.Background()
	from, err := filled(ctx, statements)
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	url := untilTheEnd(t)(clone(ctx, from))
	return Open(t, db.Options{OwnerURL: url, MaxConns: testConns, AcquireTimeout: testPatience})
}

// clone makes a database out of a template.
func clone(ctx context.Context, from string) (url string, drop func() error, err error) {
	address, err := server()
	if err != nil {
		return "", nil, err
	}
	name := fmt.Sprintf("%s%d_%s", databasePrefix, os.Getpid(), strings.ToLower(rand.Text()[:10]))
	if err := statement(ctx, address, "CREATE DATABASE "+name+" TEMPLATE "+from+" STRATEGY FILE_COPY"); err != nil {
		return "", nil, err
	}
	url, err = at(address, name)
	return url, func() error { return statement(ctx, address, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") }, err
}

// Owner gives a connection to d's database with all rights, past every policy,
// to set clocks and to damage rows. d must come from New.
func Owner(t testing.TB, d *db.DB) *pgx.Conn {
	t.Helper()
	address, ok := owners.Load(d)
	if !ok {
		t.Fatal("dbtest: the database does not come from New")
	}
	conn, err := pgx.Connect(t.Context(), address.(string))
	if err != nil {
		t.Fatalf("dbtest: connecting as the owner: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// statement runs one statement in the maintenance database.
func statement(ctx context.Context, address, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	return maintain(ctx, address, func(conn *pgx.Conn) error { return execAll(ctx, conn, sql) })
}
