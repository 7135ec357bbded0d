package db

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	ossignal "os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/internal/signal"
)

// helperVariable makes the test binary a process that starts a server in the
// directory it names, prints "ready", supervises the server and stops it when it
// is directed to end.
const helperVariable = "FLEETBOARD_EMBEDDED_HELPER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperVariable); dir != "" {
		if err := beHelper(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func beHelper(dir string) error {
	ctx, cancel := ossignal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	e, err := startEmbedded(ctx, dir, log, thisMachine(dir), nil)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "ready")
	for ctx.Err() == nil {
		if err := e.Supervise(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return e.Stop(context.Background())
}

var (
	quiet     = slog.New(slog.DiscardHandler)
	errNoHost = errors.New("the host cannot be reached")
)

// thisMachine returns the machine as it is, except that it neither downloads nor
// leaves dir.
func thisMachine(dir string) host {
	return host{
		searchDirs:   defaultSearchDirs(),
		fallbackRoot: filepath.Join(filepath.Dir(dir), "fallback"),
		fetch:        func(context.Context, string, int) error { return errNoHost },
	}
}

// openDir returns a directory that every user may pass through.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "fb-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "data")
}

func mustStart(t *testing.T, dir string) *Embedded {
	t.Helper()
	e, err := startEmbedded(t.Context(), dir, quiet, thisMachine(dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustStop(t, e) })
	return e
}

func mustStop(t *testing.T, e *Embedded) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := e.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func ask(t *testing.T, e *Embedded, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), e.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer closeQuietly(t.Context(), conn)
	rows, _ := conn.Query(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
	values, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(values, " ")
}

func TestEmbeddedKeepsDataOverRestarts(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	e := mustStart(t, dir)
	ask(t, e, "CREATE TABLE note (body text); INSERT INTO note VALUES ('kept')")
	for name, want := range map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "listen_addresses": "",
		"data_checksums": "on", "server_encoding": "UTF8", "data_directory": filepath.Join(dir, "postgres", "data"),
	} {
		if got := ask(t, e, "SHOW "+name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if group, err := syscall.Getpgid(e.pid); err != nil || group == syscall.Getpgrp() {
		t.Errorf("the server is in our process group (%d, %v): Ctrl-C would reach it", group, err)
	}
	info, err := os.Stat(e.socket)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the socket's directory has mode %v (%v), want 0700", info.Mode(), err)
	}

	mustStop(t, e)
	if e.running(t.Context()) {
		t.Fatal("the server runs on after Stop")
	}
	mustStop(t, e) // a second time does nothing
	again := mustStart(t, dir)
	if got := ask(t, again, "SELECT body FROM note"); got != "kept" {
		t.Errorf("after a restart: %q", got)
	}
}

func TestEmbeddedIsSharedAndTheLastOneStopsIt(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	first := mustStart(t, dir)
	second := mustStart(t, dir)
	if first.pid != second.pid {
		t.Fatalf("two servers: %d and %d", first.pid, second.pid)
	}
	mustStop(t, first)
	if got := ask(t, second, "SELECT 'alive'"); got != "alive" {
		t.Errorf("after the first one left: %q", got)
	}
	mustStop(t, second)
	if second.running(t.Context()) {
		t.Error("the server runs on although nobody uses it")
	}
}

// A fleetboard that is killed leaves its server running; the next one uses that
// server and, being its last user, stops it.
func TestEmbeddedIsTakenOverFromAKilledProcess(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	helper := exec.CommandContext(t.Context(), os.Args[0])
	helper.Env = append(os.Environ(), helperVariable+"="+dir)
	out, err := helper.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	for lines, line := bufio.NewReader(out), ""; line != "ready\n"; {
		if line, err = lines.ReadString('\n'); err != nil {
			t.Fatalf("the other process says %q, %v", line, err)
		}
	}
	before, err := readPidFile(filepath.Join(dir, "postgres", "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = helper.Wait()

	e := mustStart(t, dir)
	if e.pid != before.pid {
		t.Errorf("server %d was not used, but %d started", before.pid, e.pid)
	}
	ask(t, e, "SELECT 1::text")
	mustStop(t, e)
	if e.cluster.servedBy(before.pid) {
		t.Error("the left-over server runs on")
	}
}

func TestEmbeddedRecoversFromAKilledServer(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	e := mustStart(t, dir)
	ask(t, e, "CREATE TABLE note (body text); INSERT INTO note VALUES ('committed')")
	if err := syscall.Kill(e.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for e.running(t.Context()) {
		if err := signal.Sleep(t.Context(), pollEvery); err != nil {
			t.Fatal(err)
		}
	}
	// Its number may belong to another program by now: this one.
	pidFile := e.cluster.pidFile()
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatalf("a killed server leaves its file: %v", err)
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	if err := os.WriteFile(pidFile, []byte(strconv.Itoa(os.Getpid())+"\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	again := mustStart(t, dir)
	if got := ask(t, again, "SELECT body FROM note"); got != "committed" {
		t.Errorf("after a crash: %q", got)
	}
	// The first one is still a user; the last to leave stops what runs now.
	mustStop(t, again)
	mustStop(t, e)
	if again.running(t.Context()) {
		t.Error("the server that was started again runs on")
	}
}

func TestEmbeddedFindsAPlaceForEveryPath(t *testing.T) {
	t.Parallel()
	long := filepath.Join(filepath.Dir(openDir(t)), strings.Repeat("a", 60), strings.Repeat("b", 60))
	e := mustStart(t, long)
	t.Cleanup(func() { _ = os.RemoveAll(e.socket) })
	if want := filepath.Join(long, "postgres", "data"); ask(t, e, "SHOW data_directory") != want {
		t.Errorf("the data is not in %s", want)
	}
	if !strings.HasPrefix(e.socket, "/tmp/fleetboard-") {
		t.Errorf("a socket in %s is too long for the kernel", e.socket)
	}
}

// As root, in a directory that the server's user cannot reach, such as /root.
func TestEmbeddedInAClosedDirectory(t *testing.T) {
	t.Parallel()
	open := openDir(t)
	closed := filepath.Join(filepath.Dir(open), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(closed, "made", "data")
	machine := thisMachine(open)
	start := func() (*Embedded, error) { return startEmbedded(t.Context(), dir, quiet, machine, nil) }
	e, err := start()
	if err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(dir, "postgres.location")
	place, err := os.ReadFile(record)
	if os.Geteuid() != 0 {
		mustStop(t, e)
		if !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("without root the data belongs in the data directory: %s, %v", place, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	where := strings.TrimSpace(string(place))
	if !strings.HasPrefix(where, machine.fallbackRoot) || ask(t, e, "SHOW data_directory") != where+"/data" {
		t.Errorf("the data is in %s, %s was recorded", ask(t, e, "SHOW data_directory"), where)
	}
	if info, err := os.Stat(closed); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("a directory that was there before was changed to %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("the data directory has mode %v, %v; want 0711", info.Mode(), err)
	}
	ask(t, e, "CREATE TABLE note (body text)")
	mustStop(t, e)
	again, err := start()
	if err != nil {
		t.Fatal(err)
	}
	ask(t, again, "SELECT body FROM note")
	mustStop(t, again)
	if err := os.RemoveAll(where); err != nil {
		t.Fatal(err)
	}
	if _, err := start(); err == nil || !strings.Contains(err.Error(), record) {
		t.Errorf("a lost database must be told, not replaced by an empty one: %v", err)
	}
}

func TestEmbeddedWithoutPostgreSQL(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	bare := thisMachine(dir)
	bare.searchDirs = nil
	_, err := startEmbedded(t.Context(), dir, quiet, bare, nil)
	if err == nil || !strings.Contains(err.Error(), "apt install postgresql") || !errors.Is(err, errNoHost) {
		t.Fatalf("got %v, want a sentence that names the package", err)
	}

	// What is fetched is used.
	installed := defaultSearchDirs()[0]
	bare.fetch = func(_ context.Context, dir string, _ int) error {
		bin := filepath.Join(dir, "server", "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			return err
		}
		for _, name := range []string{"initdb", "postgres"} {
			script := "#!/bin/sh\nexec " + filepath.Join(installed, name) + ` "$@"` + "\n"
			if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
				return err
			}
		}
		return nil
	}
	e, err := startEmbedded(t.Context(), dir, quiet, bare, nil)
	if err != nil {
		t.Fatal(err)
	}
	ask(t, e, "SELECT 1::text")
	mustStop(t, e)

	// A cluster of another version is not touched by this one.
	other := strconv.Itoa(e.bin.major + 1)
	version := filepath.Join(dir, "postgres", "data", "PG_VERSION")
	if err := os.WriteFile(version, []byte(other+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bare.fetch = thisMachine(dir).fetch
	bare.searchDirs = []string{installed} // only this one
	_, err = startEmbedded(t.Context(), dir, quiet, bare, nil)
	if err == nil || !strings.Contains(err.Error(), "apt install postgresql-"+other) {
		t.Errorf("got %v, want the version that is needed", err)
	}
}
