package accounts

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fleetboard/db"
	"fleetboard/db/dbtest"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/notifier"
	"fleetboard/internal/tenancy"
)

const (
	testEmail    = "ada@example.org"
	testPassword = "correct horse battery"
)

// setting is a service on a real database after a first start.
type setting struct {
	*Service
	db    *db.DB
	clock *clock
	dir   string
	first Bootstrap
}

// cheap is the cost of a hash in tests that do not measure it.
var cheap = cost{memory: 8, time: 1, threads: 1}

// clock is a service's, the real one until it is set.
type clock struct{ at func() time.Time }

func (c *clock) now() time.Time { return c.at() }

// newService is a service whose hashes are cheap.
func newService(d *db.DB) *Service { return serviceOf(d, &clock{at: time.Now}, testKey(7)) }

func serviceOf(d *db.DB, c *clock, key []byte, earlier ...[]byte) *Service {
	log := slog.New(slog.DiscardHandler)
	return NewWith(Config{DB: d, Key: key, Earlier: earlier, Wake: notifier.New(d, log), Log: log, Now: c.now, HashCost: cheap})
}

func testKey(b byte) []byte { return bytes.Repeat([]byte{b}, KeySize) }

// started has an owner without a password.
func started(t *testing.T) setting {
	t.Helper()
	return startedWith(t, BootstrapInput{})
}

// startedWithOwner has an owner who can log in.
func startedWithOwner(t *testing.T) setting {
	t.Helper()
	return startedWith(t, BootstrapInput{AdminEmail: testEmail, AdminPassword: testPassword})
}

func startedWith(t *testing.T, in BootstrapInput) setting {
	t.Helper()
	d := dbtest.New(t)
	in.DataDir = t.TempDir()
	c := &clock{at: time.Now}
	s := serviceOf(d, c, testKey(7))
	first, err := s.Bootstrap(t.Context(), in)
	if err != nil {
		t.Fatalf("bootstrap: %v", err)
	}
	return setting{Service: s, db: d, clock: c, dir: in.DataDir, first: first}
}

// owner is the owner as the holder of the owner-token file.
func (s setting) owner(t *testing.T) tenancy.Principal {
	t.Helper()
	who, err := s.Bearer(t.Context(), s.file(t, ownerTokenFile))
	if err != nil {
		t.Fatalf("the owner's token: %v", err)
	}
	return who
}

func (s setting) file(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(content))
}

func (s setting) issue(t *testing.T, in NewToken) string {
	t.Helper()
	plain, err := s.IssueToken(t.Context(), s.owner(t), in)
	if err != nil {
		t.Fatalf("issue token: %v", err)
	}
	return plain
}

// another makes a second workspace with its own owner.
func another(t *testing.T, conn *pgx.Conn) tenancy.Principal {
	t.Helper()
	who := tenancy.Principal{
		Kind: tenancy.KindPerson, Role: tenancy.RoleOwner, Name: "Eve",
		Workspace: ids.New(), Account: ids.New(),
	}
	exec(t, conn, "INSERT INTO workspace (id, slug, name) VALUES ($1, 'other', 'Other')", who.Workspace)
	exec(t, conn, "INSERT INTO account (id, email, name) VALUES ($1, 'eve@example.org', 'Eve')", who.Account)
	exec(t, conn, "INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, 'owner')", who.Workspace, who.Account)
	return who
}

func exec(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func count(t *testing.T, conn *pgx.Conn, sql string, args ...any) int {
	t.Helper()
	var n int
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func wantFault(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Fatalf("error = %v, want %s", err, code)
	}
}

// refusal is wantFault for tests that look into it.
func refusal(t *testing.T, err error, code fault.Code) *fault.Error {
	t.Helper()
	wantFault(t, err, code)
	return fault.From(err)
}

func timeout(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}
