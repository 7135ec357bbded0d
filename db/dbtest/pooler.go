package dbtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// PoolMode is when PgBouncer gives a connection to somebody else.
type PoolMode string

// The modes of PgBouncer.
const (
	Transactions PoolMode = "transaction"
	Sessions     PoolMode = "session"
)

// connections is how many PgBouncer has with PostgreSQL: few to hand round, or one for each
// that a pool of a test may open.
var connections = map[PoolMode]int{Transactions: 4, Sessions: 40}

// Login makes a login of the application's kind and gives its address of a database, of
// which owner is the owner's. more is SQL with %s for its name.
func Login(t testing.TB, owner string, more ...string) string {
	t.Helper()
	login := "fleetboard_login_" + strings.ReplaceAll(ids.New().String(), "-", "")
	run := func(sql string) {
		if err := statement(context.Background(), owner, sql); err != nil {
			t.Errorf("dbtest: %v", err)
		}
	}
	run("CREATE ROLE " + login + " LOGIN NOINHERIT")
	t.Cleanup(func() {
		run("DROP OWNED BY " + login)
		run("DROP ROLE " + login)
	})
	for _, sql := range more {
		run(strings.ReplaceAll(sql, "%s", login))
	}
	address, err := url.Parse(owner)
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	address.User = url.User(login)
	return address.String()
}

// Pooler starts PgBouncer before the database at address and gives the address through it.
// It ends with the test.
func Pooler(t testing.TB, address string, mode PoolMode) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer"
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatal("dbtest: there is no pgbouncer: run tools/ensure-test-deps.sh")
	}
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	port := freePort(t)
	ini := filepath.Join(t.TempDir(), "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
%s = host=%s port=%d user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = %s
default_pool_size = %d
max_client_conn = 500
`, cfg.Database, cfg.Host, cfg.Port, cfg.User, port, mode, connections[mode])
	if err := os.WriteFile(ini, []byte(text), 0o600); err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	args := []string{"-q", ini}
	if os.Getuid() == 0 {
		args = append([]string{"-u", "postgres"}, args...) // it does not run as root
	}
	cmd := exec.Command(program, args...) //nolint:noctx // ended by the clean-up
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatalf("dbtest: starting pgbouncer: %v", err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait()
		cancel(fmt.Errorf("pgbouncer ended: %s", said.String()))
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	through := fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", cfg.User, port, cfg.Database)
	awaitServer(ended, t, through)
	return through
}

// awaitServer waits until somebody answers at an address; ctx ends with the server.
func awaitServer(ctx context.Context, t testing.TB, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for {
		conn, err := pgx.Connect(ctx, address)
		if err == nil {
			_ = conn.Close(ctx)
			return
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			t.Fatalf("dbtest: pgbouncer does not answer: %v (%v)", err, context.Cause(ctx))
		}
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // ends at once
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}
