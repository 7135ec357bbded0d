package db

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	// startTries is how often a server is started that ends by itself.
	startTries = 5
	// logLimit is the size at which the server's log is put aside at a start.
	logLimit = 10 << 20
	// tailLimit is how many bytes of the log are searched for the reason of a failure, tailLines how
	// many lines of them at most, and reasonLines how many an error says.
	tailLimit   = 4 << 10
	tailLines   = 20
	reasonLines = 3
)

// start runs the server, which inherits the cluster's lock, and waits until it
// answers.
func (e *Embedded) start(ctx context.Context, lock *os.File, settings []string) error {
	e.socket = e.cluster.run
	for try := 1; ; try++ {
		if err := e.cluster.clear(e.log); err != nil {
			return err
		}
		err := e.startOnce(ctx, lock, settings)
		if err == nil {
			e.log.Info("PostgreSQL started", "pid", e.pid, "data", e.cluster.data(), "socket", e.socket)
			return nil
		}
		if ctx.Err() != nil || try >= startTries && !inUse(err) {
			return err
		}
		if err := signal.Sleep(ctx, pollEvery<<min(try, startTries)); err != nil {
			return err
		}
	}
}

// inUse reports whether PostgreSQL found processes of an earlier server, which
// end by themselves. That happens where a version of ours started it that gave it
// no lock.
func inUse(err error) bool {
	return strings.Contains(err.Error(), "is still in use") || strings.Contains(err.Error(), "already exists")
}

func (e *Embedded) startOnce(ctx context.Context, lock *os.File, settings []string) error {
	out, err := openServerLog(e.cluster.log)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	args := []string{"-D", e.cluster.data(), "-k", e.socket}
	for _, s := range append(append([]string{}, embeddedSettings...), settings...) {
		args = append(args, "-c", s)
	}
	// The server outlives ctx.
	cmd := e.cluster.user.command(context.WithoutCancel(ctx), e.bin.postgres(), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = e.cluster.dir, out, out, []*os.File{lock}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", e.bin.postgres(), err)
	}
	e.pid, e.child = cmd.Process.Pid, cmd.Process.Pid
	// Reaping is done by reap, without a goroutine that would live as long as the server.
	_ = cmd.Process.Release()
	for {
		err := e.reachable(ctx)
		if err == nil {
			return nil
		}
		if e.reap(syscall.WNOHANG); e.child == 0 {
			return fmt.Errorf("PostgreSQL ended at its start (see %s): %s", e.cluster.log, tail(e.cluster.log, reasonLines))
		}
		if signal.Sleep(ctx, pollEvery) != nil {
			_ = syscall.Kill(e.pid, syscall.SIGQUIT)
			return fmt.Errorf("PostgreSQL does not answer (see %s): %w", e.cluster.log, err)
		}
	}
}

// reap takes note of the end of a server that is a child of this process.
func (e *Embedded) reap(options int) {
	if e.child == 0 {
		return
	}
	if pid, err := syscall.Wait4(e.child, nil, options, nil); pid == e.child || err != nil {
		e.child = 0
	}
}

// running reports whether any process of a server of the cluster lives.
func (e *Embedded) running(ctx context.Context) bool {
	e.reap(syscall.WNOHANG)
	if e.cluster.claimed() {
		return true
	}
	e.reap(0) // it gave its files up already
	return e.cluster.listens(ctx)
}

// shutDown ends the server: SIGINT is its fast shutdown, SIGQUIT its immediate one.
func (e *Embedded) shutDown(ctx context.Context) error {
	if !e.running(ctx) {
		return nil
	}
	told := e.signal(ctx, syscall.SIGINT, "INT")
	for e.running(ctx) {
		if err := signal.Sleep(ctx, pollEvery); err != nil {
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), quitTimeout)
			defer cancel()
			return fmt.Errorf("it did not end in time and was told to stop at once: %w",
				errors.Join(err, told, e.signal(last, syscall.SIGQUIT, "QUIT")))
		}
	}
	e.log.Info("PostgreSQL stopped", "pid", e.pid)
	return nil
}

// signal sends the server a signal. A process that is not seen from here, for it
// is in another container, is sent it by the server itself.
func (e *Embedded) signal(ctx context.Context, s syscall.Signal, name string) error {
	if file, err := readPidFile(e.cluster.pidFile()); err == nil && e.cluster.servedBy(file.pid) {
		return syscall.Kill(file.pid, s)
	}
	conn, err := pgx.Connect(ctx, e.url("postgres"))
	if err != nil {
		return err
	}
	defer closeQuietly(ctx, conn)
	_, err = conn.Exec(ctx, `COPY (SELECT) TO PROGRAM 'read pid < postmaster.pid && kill -`+name+` "$pid"'`)
	return err
}

// openServerLog opens the server's log for appending; a big one is put aside.
func openServerLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > logLimit {
		_ = os.Rename(path, path+".old")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the server's log: %w", err)
	}
	return f, nil
}

// tail returns the last lines of the server's log, for an error's text.
func tail(path string, lines int) string {
	f, err := os.Open(path)
	if err != nil {
		return "no log"
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Size() > tailLimit {
		_, _ = f.Seek(-tailLimit, io.SeekEnd)
	}
	text, _ := io.ReadAll(f)
	return lastLines(string(text), lines)
}
