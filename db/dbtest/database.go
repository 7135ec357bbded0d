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

// owners remembers the owner of each open database.
var owners sync.Map // *db.DB -> *owner

// owner is who may do everything in a database.
type owner struct {
	address string
	idle    chan *pgx.Conn // the connection of AsOwner, while nobody uses it
}

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
	own := &owner{o.OwnerURL, make(chan *pgx.Conn, 1)}
	owners.Store(d, own)
	t.Cleanup(func() {
		owners.Delete(d)
		select {
		case conn := <-own.idle:
			_ = conn.Close(context.Background())
		default:
		}
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
	conn := findOwner(t, d).connect(t)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// AsOwner runs do with a connection like Owner's, which the next one gets: it must leave
// nothing behind in its session.
func AsOwner(t testing.TB, d *db.DB, do func(conn *pgx.Conn) error) error {
	t.Helper()
	own := findOwner(t, d)
	var conn *pgx.Conn
	select {
	case conn = <-own.idle:
	default:
		conn = own.connect(t)
	}
	err := do(conn)
	if conn.IsClosed() { // a test ends sessions
		conn = own.connect(t)
		err = do(conn)
	}
	if err != nil {
		_ = conn.Close(context.Background())
		return err
	}
	select {
	case own.idle <- conn:
	default:
		_ = conn.Close(context.Background())
	}
	return nil
}

// findOwner returns the session of a database's owner.
func findOwner(t testing.TB, d *db.DB) *owner {
	t.Helper()
	own, ok := owners.Load(d)
	if !ok {
		t.Fatal("dbtest: the database does not come from New")
	}
	return own.(*owner)
}

func (o *owner) connect(t testing.TB) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(o.address)
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	// Tests change tables: no statement is remembered.
	cfg.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatalf("dbtest: connecting as the owner: %v", err)
	}
	return conn
}

// statement runs one statement in the maintenance database.
func statement(ctx context.Context, address, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	return maintain(ctx, address, func(conn *pgx.Conn) error { return execAll(ctx, conn, sql) })
}
