package db

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/internal/signal"
)

// supervised starts a server twice in one directory, as two processes would
// share it, and supervises both until the returned function is called.
func supervised(t *testing.T, dir string) (address string, stop func()) {
	t.Helper()
	first, second := mustStart(t, dir), mustStart(t, dir)
	address = first.URL()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{}, 2)
	for _, e := range []*Embedded{first, second} {
		go func() {
			defer func() { ended <- struct{}{} }()
			for ctx.Err() == nil {
				if err := e.Supervise(ctx); err != nil {
					t.Logf("a start failed and is tried again: %v", err)
					_ = signal.Sleep(ctx, pollEvery)
				}
			}
		}()
	}
	return address, func() {
		cancel()
		<-ended
		<-ended
	}
}

// runningPid waits for a server of the directory that answers and is not the one
// with the number before.
func runningPid(t *testing.T, dir, address string, before int) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	for {
		file, err := readPidFile(filepath.Join(dir, "postgres", "data", "postmaster.pid"))
		if err == nil && file.pid != 0 && file.pid != before {
			if conn, err := pgx.Connect(ctx, address); err == nil {
				closeQuietly(ctx, conn)
				return file.pid
			}
		}
		if err := signal.Sleep(ctx, pollEvery); err != nil {
			t.Fatal("the server did not come back")
		}
	}
}

func TestASupervisedServerComesBack(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	address, stop := supervised(t, dir)
	defer stop()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "CREATE TABLE note (body text)"); err != nil {
		t.Fatal(err)
	}
	pid := runningPid(t, dir, address, 0)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGQUIT, syscall.SIGKILL} {
		if err := syscall.Kill(pid, signal); err != nil {
			t.Fatal(err)
		}
		pid = runningPid(t, dir, address, pid)
	}
	if _, err := conn.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("a connection outlived its server; the test is wrong")
	}
	again, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer closeQuietly(t.Context(), again)
	if _, err := again.Exec(t.Context(), "INSERT INTO note VALUES ('kept')"); err != nil {
		t.Errorf("what was committed is gone: %v", err)
	}
}

// A start that fails is reported and can be tried again; nothing hangs.
func TestSupervisionTellsAFailedStart(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	e := mustStart(t, dir)
	config := filepath.Join(dir, "postgres", "data", "postgresql.conf")
	good, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, append([]byte("no_such_setting_at_all = 1\n"), good...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(e.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := e.Supervise(t.Context()); err == nil {
		t.Fatal("a start that failed was not told")
	}
	if err := os.WriteFile(config, good, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Supervise(ctx) }()
	runningPid(t, dir, e.URL(), 0)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
