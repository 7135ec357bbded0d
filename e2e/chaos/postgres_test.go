package chaos

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// postgres is a server of our own with every promise of durability, made to be
// crashed.
type postgres struct {
	t       *testing.T
	url     string // as the owner of the database, who is a superuser
	program string
	data    string
	socket  string
	log     string
	proc    *processtest.Child
}

// newPostgres makes a cluster in dir and starts a server on it. The cluster is
// made by the product's own embedded server; then the program runs as our child.
func newPostgres(t *testing.T, dir string) *postgres {
	t.Helper()
	p := &postgres{t: t, log: filepath.Join(dir, "postgres.log")}
	made, err := db.StartEmbedded(t.Context(), filepath.Join(dir, "database"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p.url = made.URL()
	err = p.ask(t.Context(), func(conn *pgx.Conn) error {
		return conn.QueryRow(t.Context(), `SELECT current_setting('data_directory'), current_setting('unix_socket_directories'),
			(SELECT setting FROM pg_config WHERE name = 'BINDIR')`).Scan(&p.data, &p.socket, &p.program)
	})
	p.program = filepath.Join(p.program, "postgres")
	if stopErr := made.Stop(t.Context()); err != nil || stopErr != nil {
		t.Fatal(err, stopErr)
	}
	p.start()
	return p
}

// ask runs do on a connection of its own.
func (p *postgres) ask(ctx context.Context, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, p.url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return do(conn)
}

// start runs the server until it answers. After a crash its helpers may still be
// ending; it is tried again then.
func (p *postgres) start() {
	p.t.Helper()
	end := time.Now().Add(time.Minute)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(end) {
		if p.proc == nil || p.proc.Gone() {
			p.launch()
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		err := p.ask(ctx, func(*pgx.Conn) error { return nil })
		cancel()
		if err == nil {
			return
		}
		<-tick.C
	}
	p.t.Errorf("PostgreSQL does not come back, see %s", p.log)
}

func (p *postgres) launch() {
	cmd := exec.Command(p.program, "-D", p.data, "-k", p.socket, "-c", "listen_addresses=", "-c", "port="+p.port(), //nolint:noctx // ended by crash or the clean-up
		"-c", "fsync=on", "-c", "full_page_writes=on", "-c", "synchronous_commit=on", "-c", "max_connections=150",
		"-c", "log_line_prefix=%m [%p] ", "-c", "jit=off")
	cmd.Dir, cmd.Env = filepath.Dir(p.data), []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	if owner, err := os.Stat(p.data); err == nil && os.Geteuid() == 0 {
		stat := owner.Sys().(*syscall.Stat_t)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid}}
	}
	var err error
	if p.proc, err = processtest.StartChild(p.t, "PostgreSQL", cmd, p.log, syscall.SIGQUIT); err != nil {
		p.t.Error(err)
	}
}

func (p *postgres) port() string {
	u, err := url.Parse(p.url)
	if err != nil {
		p.t.Error(err)
		return ""
	}
	return u.Query().Get("port")
}

// crash ends the server without a checkpoint: SIGQUIT is its immediate shutdown,
// SIGKILL leaves its helpers to find out by themselves.
func (p *postgres) crash(how syscall.Signal) {
	if err := p.proc.End(how); err != nil {
		p.t.Error(err)
	}
}

// cutOff ends up to n connections of the servers, those in the middle of
// something first.
func (p *postgres) cutOff(ctx context.Context, n int) (ended int, err error) {
	err = p.ask(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT count(pg_terminate_backend(pid))::int FROM (SELECT pid FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY state = 'idle', random() LIMIT $1) victims`, n).Scan(&ended)
	})
	if err != nil {
		return 0, fmt.Errorf("cut off: %w", err)
	}
	return ended, nil
}
