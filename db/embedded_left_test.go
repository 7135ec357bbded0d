package db

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/internal/signal"
)

// otherProcess returns a living process of the server's user, or one that ended and was
// not reaped. PostgreSQL does not mind those of other users.
func otherProcess(t *testing.T, unreaped bool) int {
	t.Helper()
	user, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	cmd := user.command(t.Context(), "/bin/cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	if unreaped {
		_ = in.Close()
	}
	return cmd.Process.Pid
}

// What a killed server leaves names processes by numbers that belong to others by
// now. In a container that is likely: numbers begin at 1 again.
func TestEmbeddedStartsOverWhatADeadServerLeft(t *testing.T) {
	t.Parallel()
	for name, unreaped := range map[string]bool{"a living process": false, "an unreaped process": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := openDir(t)
			e := mustStart(t, dir)
			ask(t, e, "CREATE TABLE note (body text); INSERT INTO note VALUES ('committed')")
			lockOfSocket := filepath.Join(e.socket, ".s.PGSQL."+embeddedPort+".lock")
			pidFile := filepath.Join(dir, "postgres", "data", "postmaster.pid")
			left := map[string]string{}
			for _, path := range []string{pidFile, lockOfSocket} {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				_, rest, _ := strings.Cut(string(text), "\n")
				left[path] = strconv.Itoa(otherProcess(t, unreaped)) + "\n" + rest
			}
			if err := syscall.Kill(e.pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			for path, text := range left {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			again := mustStart(t, dir)
			if got := ask(t, again, "SELECT body FROM note"); got != "committed" {
				t.Errorf("after a crash: %q", got)
			}
		})
	}
}

// onWaiting calls do when a start waits for a server that does not answer.
func onWaiting(do func()) *slog.Logger {
	return slog.New(slog.NewTextHandler(writerFunc(func(line []byte) (int, error) {
		if strings.Contains(string(line), "waiting for the PostgreSQL") {
			do()
		}
		return len(line), nil
	}), nil))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// As long as one process of a killed server could write, no other server starts,
// whatever became of the files that name it.
func TestEmbeddedWaitsForTheLastProcessOfAServer(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	e := mustStart(t, dir)
	conn, err := pgx.Connect(t.Context(), e.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer closeQuietly(t.Context(), conn)
	worker := int(conn.PgConn().PID())
	if err := syscall.Kill(worker, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(syscall.Kill(e.pid, syscall.SIGKILL), os.Remove(e.cluster.pidFile())); err != nil {
		t.Fatal(err)
	}
	for e.cluster.servedBy(e.pid) {
		if err := signal.Sleep(t.Context(), pollEvery); err != nil {
			t.Fatal(err)
		}
	}
	waited := false
	log := onWaiting(func() {
		waited = e.cluster.servedBy(worker)
		_ = syscall.Kill(worker, syscall.SIGCONT)
	})
	again, err := startEmbedded(t.Context(), dir, log, thisMachine(dir), nil)
	if err != nil {
		_ = syscall.Kill(worker, syscall.SIGCONT)
		t.Fatal(err)
	}
	defer mustStop(t, again)
	if !waited {
		t.Error("a server was started beside a process of the one before")
	}
}

// A cluster that another machine or container has, out of reach, is refused.
func TestEmbeddedRefusesAClusterOutOfReach(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	e := mustStart(t, dir)
	mustStop(t, e)
	lock, err := e.cluster.claim()
	if lock == nil {
		t.Fatal("the lock is not free after the end of the server", err)
	}
	defer leave(lock)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = startEmbedded(ctx, dir, onWaiting(cancel), thisMachine(dir), nil)
	if err == nil || !strings.HasPrefix(err.Error(), "another PostgreSQL has the database in "+e.cluster.data()) {
		t.Errorf("got %v, want what has the database", err)
	}
}

func TestAFileSystemWithoutLocksIsTold(t *testing.T) {
	t.Parallel()
	for _, none := range []error{syscall.ENOLCK, syscall.EOPNOTSUPP} {
		err := lockFault("/data/postgres.lock", none)
		if err == nil || !strings.HasPrefix(err.Error(), "the file system of /data has no locks (flock)") {
			t.Errorf("%v became %v", none, err)
		}
	}
	if err := lockFault("/data/postgres.lock", nil); err != nil {
		t.Error(err)
	}
}
