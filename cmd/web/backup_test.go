package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/backup"
	"github.com/fleetboard/fleetboard/internal/blobs/s3"
	"github.com/fleetboard/fleetboard/internal/eventlog/seal"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/signal"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// machine is a disk with servers on it.
type machine struct {
	t    *testing.T
	disk string
	env  map[string]string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	disk, err := os.MkdirTemp("/tmp", "fb-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(disk) })
	// The embedded server's user has to pass through it.
	if err := os.Chmod(disk, 0o711); err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, disk: disk, env: map[string]string{"FLEETBOARD_LISTEN": "127.0.0.1:0"}}
	m.env["FLEETBOARD_SECRET_KEY"] = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	m.env["FLEETBOARD_DATA_DIR"] = m.path("data")
	return m
}

func (m *machine) path(name string) string { return filepath.Join(m.disk, name) }

func (m *machine) mkdir(name string) string {
	m.t.Helper()
	if err := os.Mkdir(m.path(name), 0o711); err != nil {
		m.t.Fatal(err)
	}
	return m.path(name)
}

// environ returns the environment with changes; a variable whose value is "" is not set.
func (m *machine) environ(changes map[string]string) (list []string) {
	for name, value := range m.env {
		if _, changed := changes[name]; !changed {
			list = append(list, name+"="+value)
		}
	}
	for name, value := range changes {
		if value != "" {
			list = append(list, name+"="+value)
		}
	}
	return list
}

type told struct {
	code int
	text string
}

// run runs a command.
func (m *machine) run(changes map[string]string, args ...string) told {
	m.t.Helper()
	var out bytes.Buffer
	code := run(m.t.Context(), args, m.environ(changes), strings.NewReader(""), &out, &out)
	return told{code, out.String()}
}

// runUntil runs a command and stops it when it prints a word.
func (m *machine) runUntil(word string, changes map[string]string, args ...string) told {
	m.t.Helper()
	ctx, cancel := context.WithCancel(m.t.Context())
	defer cancel()
	out := &listener{word: word, heard: cancel}
	code := run(ctx, args, m.environ(changes), strings.NewReader(""), out, out)
	return told{code, out.String()}
}

// listener is an output that waits for a word.
type listener struct {
	bytes.Buffer
	word  string
	heard func()
}

func (l *listener) Write(text []byte) (int, error) {
	if bytes.Contains(text, []byte(l.word)) {
		l.heard()
	}
	return l.Buffer.Write(text)
}

// wants fails the test where the exit code or a piece of the output is missing.
func (r told) wants(t *testing.T, code int, pieces ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d; want %d", r.code, code)
	}
	for _, p := range pieces {
		if !strings.Contains(r.text, p) {
			t.Errorf("%q is missing", p)
		}
	}
	if t.Failed() {
		t.Fatalf("output:\n%s", r.text)
	}
}

// server is a server that runs, with its embedded database.
type server struct {
	*machine
	app     *app.App
	dataDir string
	url     string // of the database, for a superuser
	who     tenancy.Principal
}

func (m *machine) serve(changes map[string]string) *server {
	m.t.Helper()
	return m.serveOver("", changes)
}

// serveOver starts a server whose database a superuser reaches by an address; "" is the embedded one.
func (m *machine) serveOver(url string, changes map[string]string) *server {
	m.t.Helper()
	environ := map[string]string{}
	for _, line := range m.environ(changes) {
		name, value, _ := strings.Cut(line, "=")
		environ[name] = value
	}
	cfg, err := app.LoadConfig(environ)
	if err != nil {
		m.t.Fatal(err)
	}
	s := &server{machine: m, dataDir: cfg.DataDir, url: cmp.Or(url, embeddedURL(cfg.DataDir))}
	if s.app, err = app.Start(m.t.Context(), cfg, slog.New(slog.NewTextHandler(m.t.Output(), nil))); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(s.close)
	workspace, ok := ids.Parse(s.ask("SELECT id::text FROM workspace"))
	if !ok {
		m.t.Fatal("there is no workspace")
	}
	s.who = dbfactory.Person(workspace, tenancy.RoleMember)
	return s
}

func (s *server) close() {
	if err := s.app.Close(); err != nil {
		s.t.Error(err)
	}
}

// embeddedURL returns the address of the database in a data directory.
func embeddedURL(dataDir string) string {
	query := url.Values{"host": {filepath.Join(dataDir, "postgres", "run")}, "port": {"5432"}}
	return "postgres://fleetboard@/fleetboard?" + query.Encode()
}

// ask returns the first value that a statement gives.
func (s *server) ask(sql string, args ...any) (text string) {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close(s.t.Context())
	if err := conn.QueryRow(s.t.Context(), sql, args...).Scan(&text); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return text
}

// create creates a job and returns when that was committed.
func (s *server) create(title string) time.Time {
	s.t.Helper()
	if _, err := s.app.Services().Jobs.Create(s.t.Context(), s.who, nil, jobs.New{Spec: jobs.Spec{Title: title}}); err != nil {
		s.t.Fatal(err)
	}
	return time.Now()
}

func (s *server) titles() string {
	s.t.Helper()
	return s.ask("SELECT coalesce(string_agg(title, ' ' ORDER BY key), '') FROM job")
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !is(); {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
		if err := signal.Sleep(t.Context(), 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

// archivedUntil waits until the log is archived up to a time.
func (s *server) archivedUntil(store string, at time.Time) {
	s.t.Helper()
	eventually(s.t, "the log is archived", func() bool {
		from, err := backup.Address{Text: store, Credentials: s3.Credentials{AccessKey: "key", SecretKey: "secret"}}.Open()
		if err != nil {
			return false
		}
		list, err := backup.List(s.t.Context(), from)
		if err != nil || len(list) == 0 {
			return false
		}
		reached, err := backup.Reach(s.t.Context(), from, list[len(list)-1].Manifest)
		return err == nil && reached.After(at)
	})
}

// exec runs a statement.
func (s *server) exec(sql string, args ...any) {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close(s.t.Context())
	if _, err := conn.Exec(s.t.Context(), sql, args...); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
}

// fill adds so many MB to the database.
func (s *server) fill(megabytes int) {
	s.t.Helper()
	s.exec("CREATE TABLE IF NOT EXISTS filler (content text)")
	s.exec("ALTER TABLE filler ALTER content SET STORAGE EXTERNAL")
	s.exec(`INSERT INTO filler SELECT (SELECT string_agg(md5(n::text || i::text), '') FROM generate_series(1, 4096) i WHERE n > 0)
		FROM generate_series(1, 8 * $1::int) n`, megabytes)
}

// backupMade waits until the server has made a backup, other than one that is known, which ended in the past.
func (s *server) backupMade(known string) (id string) {
	s.t.Helper()
	eventually(s.t, "a backup was made", func() bool {
		is, err := backup.ReadStatus(s.dataDir)
		id = is.LastID
		return err == nil && id != "" && id != known && time.Now().After(is.LastEnded)
	})
	return id
}

// megabytes is how large the database is that is restored; make soak takes 1 GB.
func megabytes(t *testing.T) int {
	t.Helper()
	text := cmp.Or(os.Getenv("FLEETBOARD_RESTORE_MB"), "8")
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A server that archives its log is restored, on another machine as it were, as it was at a named second:
// with the jobs of that second and no later ones, with equal seals, and it says which are missing.
func TestANamedSecondIsRestored(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	store, size := m.mkdir("store"), megabytes(t)
	before := m.serve(nil)
	before.fill(size * 7 / 8)
	before.close()
	s := m.serve(map[string]string{"FLEETBOARD_BACKUP_URL": store})
	s.create("first")
	s.backupMade("")
	eventually(t, "the log is sealed", func() bool { return s.ask("SELECT (count(*) > 1)::text FROM log_seal") == "true" })
	s.fill(size / 8)
	at := s.create("second")
	last := s.create("third")
	s.archivedUntil(store, last)

	to := map[string]string{"FLEETBOARD_DATA_DIR": m.path("restored")}
	began := time.Now()
	told := m.run(to, "restore", store, "--at", at.Format(time.RFC3339Nano))
	took := time.Since(began)
	told.wants(t, 0, "Restored the backup", "Missing in", "FB-3", "     0  lease", "     0  log", "     0  state")
	m.compareSeals(s, to)
	restored := m.serve(to)
	if got := restored.titles(); got != "first second" {
		t.Errorf("restored are %q", got)
	}
	bytes := restored.ask("SELECT (pg_database_size(current_database()) >> 20)::text")
	t.Logf("%s MB were restored to a named second, and audited, in %s", bytes, took.Round(100*time.Millisecond))

	whole := map[string]string{"FLEETBOARD_DATA_DIR": m.path("whole")}
	m.run(whole, "restore", store).wants(t, 0, "Nothing is missing")
	m.run(map[string]string{"FLEETBOARD_BACKUP_URL": store}, "doctor", "--try-restore", "--in", m.disk).
		wants(t, 0, "the newest of 1 ended", "any second from", "Restored the backup")
	never := map[string]string{"FLEETBOARD_DATA_DIR": m.path("never")}
	m.run(never, "restore", store, "--at", at.Add(-24*time.Hour).Format(time.RFC3339)).wants(t, 2, "the oldest backup was finished at")
	s.close()
	m.changedLog(store, never)
	m.run(never, "restore", store, "--at", time.Now().Format(time.RFC3339Nano)).wants(t, 2, "the archived log ends at")
}

// changedLog changes a byte of the archived log, and of what says how far it goes.
func (m *machine) changedLog(store string, to map[string]string) {
	m.t.Helper()
	list := files(m.t, filepath.Join(store, "log"))
	state := slices.IndexFunc(list, func(path string) bool { return filepath.Base(path) == "state.json" })
	// The names sort as the log goes; the state is behind its files.
	for _, path := range []string{list[state], list[state-1]} {
		was, err := os.ReadFile(path)
		if err != nil {
			m.t.Fatal(err)
		}
		now := slices.Clone(was)
		now[len(now)/2] ^= 1
		write(m.t, path, string(now))
		m.run(to, "restore", store).wants(m.t, 1, filepath.Base(path)+" is not what the backup wrote")
		write(m.t, path, string(was))
	}
}

// compareSeals compares the last sealed block of a restored database with that of its origin. Blocks are
// chained: where one is the same, so are all before it.
func (m *machine) compareSeals(origin *server, restored map[string]string) {
	m.t.Helper()
	environ := map[string]string{}
	for _, line := range m.environ(restored) {
		name, value, _ := strings.Cut(line, "=")
		environ[name] = value
	}
	cfg, err := app.LoadConfig(environ)
	if err != nil {
		m.t.Fatal(err)
	}
	err = app.Inspect(m.t.Context(), cfg, slog.New(slog.DiscardHandler), func(d *db.DB) error {
		ends, err := seal.Ends(m.t.Context(), d)
		for _, e := range ends {
			was := origin.ask("SELECT encode(digest, 'hex') FROM log_seal WHERE number = $1", e.Block)
			if e.Block == 0 || was != hex.EncodeToString(e.Digest) {
				m.t.Errorf("block %d is %x and was %s", e.Block, e.Digest, was)
			}
		}
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
}
