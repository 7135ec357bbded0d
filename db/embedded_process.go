package db

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
)

const (
	// startTries covers the moment in which helpers of a killed server still end.
	startTries = 5
	// logLimit is the size at which the server's log is put aside at a start.
	logLimit = 10 << 20
	// tailLimit is how much of the log is searched for the reason of a failure.
	tailLimit = 4 << 10
)

// adopt takes over the server that postmaster.pid names, if it runs. It waits
// for one that is still starting. A file that a dead server left is removed.
func (e *Embedded) adopt(ctx context.Context) (bool, error) {
	pidFile := e.cluster.pidFile()
	pid, socket, err := readPidFile(pidFile)
	if err != nil {
		return false, err
	}
	if pid == 0 {
		return false, nil
	}
	if !e.serves(pid) {
		if err := os.Remove(pidFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			return false, fmt.Errorf("removing the file of a dead server: %w", err)
		}
		return false, nil
	}
	e.pid, e.socket = pid, socket
	for {
		err := e.reachable(ctx)
		if err == nil {
			return true, nil
		}
		if !e.serves(pid) {
			return false, nil
		}
		if pause(ctx, pollEvery) != nil {
			return false, fmt.Errorf("a PostgreSQL runs as process %d and does not answer: %w", pid, err)
		}
		// A server that was still starting had not written its socket yet.
		if _, now, err := readPidFile(pidFile); err == nil && now != "" {
			e.socket = now
		}
	}
}

// readPidFile reads process and socket directory; 0 where there is no file. Its
// lines: process, data directory, start, port, socket directory, ...
func readPidFile(path string) (pid int, socket string, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, "", nil
	}
	if err != nil {
		return 0, "", fmt.Errorf("reading the server's process: %w", err)
	}
	lines := strings.Split(string(text), "\n")
	pid, _ = strconv.Atoi(strings.TrimSpace(lines[0]))
	if len(lines) > 4 {
		socket = strings.TrimSpace(lines[4])
	}
	return max(pid, 0), socket, nil
}

// serves reports whether the process lives and is the server of our cluster.
// Its number may have gone to another program since; a server's working
// directory is its cluster. Where the system does not show that, a living
// process is believed.
func (e *Embedded) serves(pid int) bool {
	if !alive(pid) {
		return false
	}
	cwd, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	if err != nil {
		_, noProc := os.Stat("/proc/self/cwd")
		return noProc != nil
	}
	return sameFile(cwd, e.cluster.data())
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

func (e *Embedded) reachable(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, e.url("postgres"))
	if err != nil {
		return err
	}
	closeQuietly(ctx, conn)
	return nil
}

// start runs the server and waits until it answers.
func (e *Embedded) start(ctx context.Context, settings []string) error {
	var err error
	if e.socket, err = e.cluster.socketDir(); err != nil {
		return err
	}
	for try := 1; ; try++ {
		err := e.startOnce(ctx, settings)
		if err == nil {
			e.log.Info("PostgreSQL started", "pid", e.pid, "data", e.cluster.data(), "socket", e.socket)
			return nil
		}
		if try == startTries || ctx.Err() != nil {
			return err
		}
		if err := pause(ctx, pollEvery<<try); err != nil {
			return err
		}
	}
}

func (e *Embedded) startOnce(ctx context.Context, settings []string) error {
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
	cmd.Dir, cmd.Stdout, cmd.Stderr = e.cluster.dir, out, out
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", e.bin.postgres(), err)
	}
	e.pid = cmd.Process.Pid
	// Reaping is done by gone, without a goroutine that would live as long as the server.
	_ = cmd.Process.Release()
	for {
		err := e.reachable(ctx)
		if err == nil {
			return nil
		}
		if e.gone() {
			return fmt.Errorf("PostgreSQL ended at its start (see %s): %s", e.cluster.log, tail(e.cluster.log))
		}
		if pause(ctx, pollEvery) != nil {
			_ = syscall.Kill(e.pid, syscall.SIGQUIT)
			return fmt.Errorf("PostgreSQL does not answer (see %s): %w", e.cluster.log, err)
		}
	}
}

// gone reports whether the server's process has ended. Where it is a child of
// this process it is reaped here.
func (e *Embedded) gone() bool {
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(e.pid, &status, syscall.WNOHANG, nil)
	return pid == e.pid || (err != nil && !alive(e.pid))
}

// shutDown ends the server: SIGINT is its fast shutdown, SIGQUIT its immediate one.
func (e *Embedded) shutDown(ctx context.Context) error {
	if e.gone() {
		// Another process may have started it again since.
		pid, _, err := readPidFile(e.cluster.pidFile())
		if err != nil || pid == 0 || !e.serves(pid) {
			return err
		}
		e.pid = pid
	}
	if err := syscall.Kill(e.pid, syscall.SIGINT); err != nil {
		return err
	}
	for !e.gone() {
		if err := pause(ctx, pollEvery); err != nil {
			_ = syscall.Kill(e.pid, syscall.SIGQUIT)
			return fmt.Errorf("it was stopped at once, since it did not end in time: %w", err)
		}
	}
	e.log.Info("PostgreSQL stopped", "pid", e.pid)
	return nil
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

// tail is the end of the server's log, for an error's text.
func tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "no log"
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Size() > tailLimit {
		_, _ = f.Seek(-tailLimit, io.SeekEnd)
	}
	text, _ := io.ReadAll(f)
	return lastLines(string(text), 3)
}
