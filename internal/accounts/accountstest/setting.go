// Package accountstest is what the tests of accounts and its parts have in
// common: a service on a real database after a first start, with cheap hashes of
// passwords and a clock that can be set.
package accountstest

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

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/accounts"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
	"github.com/fleetboard/fleetboard/internal/accounts/setup"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/notifier"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/transport"
)

// From returns a log in from a network address by an unknown browser.
func From(addr string) devices.Origin { return devices.Origin{Address: addr} }

// GraceThere is somebody whom a provider vouches for.
var GraceThere = oidc.Claims{Issuer: "https://id.example.com", Subject: "sub-grace", Email: "grace@navy.example", Name: "Grace"}

// The first owner.
const (
	Email    = "ada@example.org"
	Password = "correct horse battery"
)

// Setting is a service on a real database after a first start.
type Setting struct {
	*accounts.Parts
	DB    *db.DB
	Clock *Clock
	Dir   string
	First setup.Bootstrap
	Wake  *notifier.Notifier
}

// Cheap is the cost of a hash in tests that do not measure it.
var Cheap = passwords.Cost{Memory: 8, Time: 1, Threads: 1}

// Clock is a service's, the real one until it is set.
type Clock struct{ At func() time.Time }

// Now returns what the clock says.
func (c *Clock) Now() time.Time { return c.At() }

// New returns the parts with the real clock and hashes that are cheap.
func New(d *db.DB, wake accounts.Notifier, log *slog.Logger) *accounts.Parts {
	return accounts.New(accounts.Config{DB: d, Key: Key(7), Wake: wake, Log: log, Now: time.Now, HashCost: Cheap})
}

// NewService returns a service whose hashes are cheap.
func NewService(d *db.DB) *accounts.Parts { return NewServiceWith(d, &Clock{At: time.Now}, Key(7)) }

// NewServiceWith returns a service with a clock and keys.
func NewServiceWith(d *db.DB, c *Clock, key []byte, earlier ...[]byte) *accounts.Parts {
	return serviceWith(d, notifier.New(transport.Poll{}, slog.New(slog.DiscardHandler)), c, key, earlier...)
}

func serviceWith(d *db.DB, wake accounts.Notifier, c *Clock, key []byte, earlier ...[]byte) *accounts.Parts {
	return accounts.New(accounts.Config{
		DB: d, Key: key, Earlier: earlier, Wake: wake, Log: slog.New(slog.DiscardHandler), Now: c.Now, HashCost: Cheap,
	})
}

// Key returns a secret key of a server.
func Key(b byte) []byte { return bytes.Repeat([]byte{b}, vault.KeySize) }

// Started has an owner without a password.
func Started(t *testing.T) Setting {
	t.Helper()
	return StartedWith(t, setup.BootstrapInput{})
}

// StartedWithOwner has an owner who can log in.
func StartedWithOwner(t *testing.T) Setting {
	t.Helper()
	return StartedWith(t, setup.BootstrapInput{AdminEmail: Email, AdminPassword: Password})
}

// StartedWith returns a service after a first start with an environment.
func StartedWith(t *testing.T, in setup.BootstrapInput) Setting {
	t.Helper()
	d := dbtest.New(t)
	in.DataDir = t.TempDir()
	c := &Clock{At: time.Now}
	wake := notifier.New(transport.NewListen(d), slog.New(slog.DiscardHandler))
	s := serviceWith(d, wake, c, Key(7))
	first, err := s.Setup.Bootstrap(t.Context(), in)
	if err != nil {
		t.Fatalf("bootstrap: %v", err)
	}
	return Setting{Parts: s, DB: d, Clock: c, Dir: in.DataDir, First: first, Wake: wake}
}

// Owner returns the owner as the holder of the owner-token file.
func (s Setting) Owner(t *testing.T) tenancy.Principal {
	t.Helper()
	who, err := s.Tokens.Bearer(t.Context(), s.File(t, setup.OwnerTokenFile))
	if err != nil {
		t.Fatalf("the owner's token: %v", err)
	}
	return who
}

// File returns what a file of the data directory holds.
func (s Setting) File(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(content))
}

// Issue makes a token of the owner.
func (s Setting) Issue(t *testing.T, in tokens.NewToken) string {
	t.Helper()
	plain, err := s.Tokens.Issue(t.Context(), s.Owner(t), in)
	if err != nil {
		t.Fatalf("issue token: %v", err)
	}
	return plain
}

// Exec runs a statement.
func Exec(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// Count reads a number.
func Count(t *testing.T, conn *pgx.Conn, sql string, args ...any) int {
	t.Helper()
	var n int
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// WantFault fails where an error has another code.
func WantFault(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Fatalf("error = %v, want %s", err, code)
	}
}

// Refusal is WantFault for tests that look into it.
func Refusal(t *testing.T, err error, code fault.Code) *fault.Error {
	t.Helper()
	WantFault(t, err, code)
	return fault.From(err)
}

// Timeout returns a context that ends long after any test.
func Timeout(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// Address is where log ins come from.
const Address = "192.0.2.1"
