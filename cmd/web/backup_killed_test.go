package main

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver that migrations run with
	"github.com/pressly/goose/v3"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/schema"
	"github.com/fleetboard/fleetboard/internal/backup"
)

// commandVariable makes the test binary the command, with the arguments that it holds, a line each.
const commandVariable = "FLEETBOARD_TEST_COMMAND"

func TestMain(m *testing.M) {
	if args := os.Getenv(commandVariable); args != "" {
		os.Exit(run(context.Background(), strings.Split(args, "\n"), os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// kill runs a command as a process of its own and kills it when it prints a word.
func (m *machine) kill(word string, changes map[string]string, args ...string) {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), os.Args[0])
	cmd.Env = append(m.environ(changes), commandVariable+"="+strings.Join(args, "\n"), "PATH="+os.Getenv("PATH"))
	out, err := cmd.StderrPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), word) {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return
		}
	}
	_ = cmd.Wait()
	m.t.Fatalf("%q ended before it said %q: %s", args, word, said.String())
}

// A backup or a restore whose process is killed leaves nothing that looks whole; the next one goes well and
// clears what was left, also the database server that was left running.
func TestKilledBackupsAndRestores(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.serve(nil).create("one")
	store := m.mkdir("store")
	m.kill("copy", nil, "backup", store)
	m.kill("copy", nil, "backup", m.path("x.tar"))
	to := map[string]string{"FLEETBOARD_DATA_DIR": m.path("to")}
	m.run(to, "restore", store).wants(t, 2, "there is no backup")
	m.run(to, "restore", m.path("x.tar")).wants(t, 2, "there is no backup at")
	m.run(nil, "backup", store).wants(t, 0)
	m.run(nil, "backup", m.path("x.tar")).wants(t, 0)
	if left, err := filepath.Glob(filepath.Join(store, "2*")); err != nil || len(left) != 1 {
		t.Errorf("there are %q, %v", left, err)
	}
	if _, err := os.Stat(m.path("x.tar.unfinished")); err == nil {
		t.Error("the unfinished tar is left")
	}
	for _, word := range []string{"write", "audit"} {
		m.kill(word, to, "restore", store)
		m.run(to, "serve").wants(t, 1, "was not finished: run fleetboard restore again")
	}
	m.run(to, "restore", m.path("x.tar")).wants(t, 0, "Restored the backup")
	if got := m.serve(to).titles(); got != "one" {
		t.Errorf("restored are %q", got)
	}
}

// A backup of an older schema is brought up to date.
func TestAnOlderSchemaIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	embedded, err := db.StartEmbedded(t.Context(), m.path("old"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	newest, err := db.SchemaVersion()
	if err != nil {
		t.Fatal(err)
	}
	m.migrateBelow(embedded.URL(), newest)
	d, err := db.Open(t.Context(), db.Options{OwnerURL: embedded.URL()})
	if err != nil {
		t.Fatal(err)
	}
	store := m.mkdir("store")
	to, err := backup.Address{Text: store}.Create()
	if err != nil {
		t.Fatal(err)
	}
	secret := []byte("01234567890123456789012345678901")
	_, err = backup.Take(t.Context(), backup.Server{URL: embedded.URL(), DB: d, Embedded: true, Schema: newest - 1, Secret: secret}, to,
		func(string, int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	if err := embedded.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.run(nil, "restore", store).wants(t, 0, "and was brought up to date", "     0  state")
	m.serve(nil)
}

// migrateBelow migrates a database to the schemas before one.
func (m *machine) migrateBelow(url string, version int64) {
	m.t.Helper()
	connector, err := goose.OpenDBWithDriver("pgx", url)
	if err != nil {
		m.t.Fatal(err)
	}
	defer connector.Close()
	migrations, err := goose.NewProvider(goose.DialectPostgres, connector, schema.FS, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := migrations.UpTo(m.t.Context(), version-1); err != nil {
		m.t.Fatal(err)
	}
}

// markServer keeps what is put there.
func markServer(t *testing.T) (address string, marks func() string) {
	t.Helper()
	var mu sync.Mutex
	var kept []byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Method == http.MethodPut:
			kept, _ = io.ReadAll(r.Body)
		case kept == nil:
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = w.Write(kept)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		return string(kept)
	}
}

// Marks that are kept outside show what a restore to an earlier second has lost, until somebody accepts it.
func TestMarksOutsideShowWhatWasLost(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	address, kept := markServer(t)
	m.env["FLEETBOARD_LOG_MARKS_URL"] = address
	store := m.mkdir("store")
	s := m.serve(map[string]string{"FLEETBOARD_BACKUP_URL": store})
	s.backupMade("")
	at := s.create("first")
	last := s.create("second")
	eventually(t, "the second job is sealed", func() bool {
		return s.ask("SELECT (max(to_id) >= (SELECT max(id) FROM event))::text FROM log_seal") == "true"
	})
	block := s.ask("SELECT max(number)::text FROM log_seal")
	eventually(t, "the second job is marked", func() bool { return strings.Contains(kept(), `"number": `+block) })
	s.archivedUntil(store, last)
	s.close()
	to := map[string]string{"FLEETBOARD_DATA_DIR": m.path("to")}
	m.run(to, "restore", store, "--at", at.Format(time.RFC3339Nano)).
		wants(t, 1, "Missing in", "it was cut, or is an older copy", "run fleetboard accept-log")
	m.run(to, "accept-log", "--yes").wants(t, 0)
	m.run(to, "audit").wants(t, 0)
}
