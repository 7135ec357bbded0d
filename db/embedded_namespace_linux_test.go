package db

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db/nstest"
	"github.com/fleetboard/fleetboard/internal/signal"
)

// container runs the helper as the first process of PID and IPC namespaces of its
// own, with the data directory under another path, as in a container.
type container struct {
	t   *testing.T
	cmd *exec.Cmd
	out *bufio.Reader
}

func startContainer(t *testing.T, dir string) *container {
	t.Helper()
	volume := filepath.Join(filepath.Dir(dir), "volume")
	if err := os.MkdirAll(volume, 0o711); err != nil {
		t.Fatal(err)
	}
	c := &container{t: t, cmd: exec.Command(os.Args[0])} //nolint:noctx // ended below
	nstest.Contain(c.cmd, [2]string{volume, dir})
	c.cmd.Env = append(os.Environ(), helperVariable+"="+volume)
	c.cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	read, write := io.Pipe()
	c.out = bufio.NewReader(read)
	c.cmd.Stderr = write
	if err := c.cmd.Start(); err != nil {
		t.Fatalf("%s: %v", nstest.Needs, err)
	}
	t.Cleanup(func() { c.end(syscall.SIGKILL) })
	go func() { _ = write.CloseWithError(errors.Join(io.EOF, c.cmd.Wait())) }()
	return c
}

// waitFor reads what the helper prints until a line begins with word.
func (c *container) waitFor(word string) {
	c.t.Helper()
	var seen strings.Builder
	for {
		line, err := c.out.ReadString('\n')
		if strings.HasPrefix(line, word) {
			return
		}
		seen.WriteString(line)
		if err != nil {
			c.t.Fatalf("the container ended before it said %q (%s): %v: %s", word, nstest.Needs, err, seen.String())
		}
	}
}

// end sends a deadly signal and waits until the whole namespace is gone.
func (c *container) end(how syscall.Signal) {
	if c.cmd.Process.Signal(how) == nil {
		_, _ = io.Copy(io.Discard, c.out)
	}
}

// writer inserts rows all the time and remembers those that were committed.
type writer struct {
	mu   sync.Mutex
	ids  []int64
	more chan struct{}
}

func startWriter(t *testing.T, url string) *writer {
	w := &writer{more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		for ctx.Err() == nil {
			conn, err := pgx.Connect(ctx, url)
			for err == nil {
				var id int64
				if err = conn.QueryRow(ctx, "INSERT INTO note DEFAULT VALUES RETURNING id").Scan(&id); err == nil {
					w.note(id)
				}
			}
			if conn != nil {
				closeQuietly(ctx, conn)
			}
			_ = signal.Sleep(ctx, pollEvery)
		}
	})
	t.Cleanup(func() { cancel(); ended.Wait() })
	return w
}

func (w *writer) note(id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids = append(w.ids, id)
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// goesOn waits until rows were committed that nobody knew of when it was called.
func (w *writer) goesOn(t *testing.T) {
	t.Helper()
	select {
	case <-w.more: // it may have been there already
	default:
	}
	for range 2 {
		select {
		case <-w.more:
		case <-time.After(2 * time.Minute):
			t.Fatal("nothing can be written")
		}
	}
}

// kept asserts that each row that was committed is there, once.
func (w *writer) kept(t *testing.T, url string) {
	t.Helper()
	w.mu.Lock()
	ids := append([]int64{}, w.ids...)
	w.mu.Unlock()
	var conn *pgx.Conn
	for err := errors.New("none yet"); err != nil; { // the server may be starting
		if conn, err = pgx.Connect(t.Context(), url); err != nil && signal.Sleep(t.Context(), pollEvery) != nil {
			t.Fatal(err)
		}
	}
	defer closeQuietly(t.Context(), conn)
	var lost, twice int
	err := conn.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE note.id IS NULL), count(*) - count(DISTINCT given)
		FROM unnest($1::bigint[]) given LEFT JOIN note ON note.id = given`, ids).Scan(&lost, &twice)
	if err != nil || lost > 0 || twice > 0 {
		t.Errorf("of %d rows %d are lost and %d ids were given twice (%v)", len(ids), lost, twice, err)
	}
}

// Containers with one volume share one server, whoever comes and goes: a process
// number of one means nothing in the other.
func TestEmbeddedOverNamespaces(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	setUp := mustStart(t, dir)
	ask(t, setUp, "CREATE TABLE note (id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY)")
	mustStop(t, setUp)

	old := startContainer(t, dir)
	old.waitFor("ready")
	w := startWriter(t, setUp.URL())
	w.goesOn(t)
	// A rolling update: each new one overlaps with the one before it.
	for range 2 {
		next := startContainer(t, dir)
		next.waitFor("ready")
		w.goesOn(t)
		old.end(syscall.SIGTERM)
		w.goesOn(t)
		old = next
	}
	// Both killed, the one with the server first or last.
	for i := range 2 {
		other := startContainer(t, dir)
		other.waitFor("ready")
		w.goesOn(t)
		both := []*container{old, other}
		both[i].end(syscall.SIGKILL)
		both[1-i].end(syscall.SIGKILL)
		old = startContainer(t, dir)
		old.waitFor("ready")
		w.goesOn(t)
	}
	w.kept(t, setUp.URL())
}

// The last user stops the server, also one whose process it cannot see.
func TestEmbeddedIsStoppedFromAnotherNamespace(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	here := mustStart(t, dir)
	there := startContainer(t, dir)
	there.waitFor("ready")
	leave(here.users) // as if this process were killed
	there.end(syscall.SIGTERM)
	if here.running(t.Context()) {
		t.Error("the server runs on although nobody uses it")
	}
	if log, err := os.ReadFile(filepath.Join(dir, "postgres.log")); err != nil || !strings.Contains(string(log), "fast shutdown") {
		t.Errorf("the server was not shut down in order (%v): %s", err, log)
	}
}
