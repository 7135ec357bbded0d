package db_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// Where PostgreSQL takes no changes reads go on, and a change learns so at once.
func TestAReadOnlyDatabaseIsUnavailableForChanges(t *testing.T) {
	t.Parallel()
	owner := dbtest.URL(t)
	ws := addWorkspace(t, dbtest.Open(t, db.Options{OwnerURL: owner}), "kept")
	conn, err := pgx.Connect(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	name := pgx.Identifier{conn.Config().Database}.Sanitize()
	if _, err := conn.Exec(t.Context(), "ALTER DATABASE "+name+" SET default_transaction_read_only = on"); err != nil {
		t.Fatal(err)
	}
	d := dbtest.Open(t, db.Options{OwnerURL: owner}) // whose connections begin read-only
	for name, ask := range map[string]func() error{
		"a change": func() error {
			return d.In(t.Context(), db.Workspace(ws), func(tx db.Tx) error {
				_, err := tx.Exec(t.Context(), "INSERT INTO product (workspace_id, id, name) VALUES ($1, gen_random_uuid(), 'p')", ws)
				return err
			})
		},
		"a lock": func() error {
			return d.In(t.Context(), db.Workspace(ws), func(tx db.Tx) error {
				_, err := tx.Exec(t.Context(), "SELECT FROM workspace FOR UPDATE")
				return err
			})
		},
		"the probe of readiness": func() error { return d.CheckWrite(t.Context()) },
	} {
		if f := fault.From(ask()); f == nil || f.Code != fault.Unavailable || !strings.Contains(f.Message, "takes no changes") {
			t.Errorf("%s: %v", name, f)
		}
	}
	n, read := count(t, "workspace")
	if err := d.In(t.Context(), db.Workspace(ws), read); err != nil || *n != 1 {
		t.Errorf("a read: %d, %v", *n, err)
	}
}

// silence is a way to a server on which it can fall silent, also for who connects.
type silence struct{ sync.RWMutex }

// pass returns the address of a database by way of s.
func (s *silence) pass(t *testing.T, address string) string {
	t.Helper()
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // ends with the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	network, server := pgconn.NetworkAddress(cfg.Host, cfg.Port)
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial(network, server) //nolint:noctx // ends with its client
			if err != nil {
				_ = near.Close()
				continue
			}
			go s.copy(near, far)
			go s.copy(far, near)
		}
	}()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Del("host") // a socket's directory
	query.Del("port")
	u.Host, u.RawQuery = l.Addr().String(), query.Encode()
	return u.String()
}

func (s *silence) copy(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		s.RLock()
		_, err = to.Write(buffer[:n])
		s.RUnlock()
		if err != nil {
			return
		}
	}
}

// A server that swallows what it is sent keeps nobody longer than a statement may take, nor
// longer than the caller waits; afterwards all is as before.
func TestAServerThatFallsSilentEndsEachTransaction(t *testing.T) {
	t.Parallel()
	var way silence
	d := dbtest.Open(t, db.Options{OwnerURL: way.pass(t, dbtest.URL(t)), MaxConns: 4, AcquireTimeout: time.Second})
	ws := addWorkspace(t, d, "silent")
	silent := sync.OnceFunc(way.Lock)
	ask := func(ctx context.Context, before func()) error {
		return d.In(ctx, db.Workspace(ws), func(tx db.Tx) error {
			if _, err := tx.Exec(ctx, "SELECT 1"); err != nil {
				return err
			}
			before()
			_, err := tx.Exec(ctx, "SELECT 2")
			return err
		})
	}
	// Without a deadline of the caller's the test would never end.
	if err := ask(t.Context(), silent); !isUnavailable(err) {
		t.Errorf("a statement within a transaction: %v", err)
	}
	if err := ask(t.Context(), func() {}); !isUnavailable(err) {
		t.Errorf("the next transaction: %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := ask(short, func() {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a caller who waits for a moment: %v", err)
	}
	way.Unlock()
	if err := ask(t.Context(), func() {}); err != nil {
		t.Errorf("once it answers: %v", err)
	}
}

func isUnavailable(err error) bool {
	f := fault.From(err)
	return f != nil && f.Code == fault.Unavailable
}
