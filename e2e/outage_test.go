package e2e

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
)

// cluster starts PostgreSQL in a directory.
func cluster(t *testing.T, dir string) *db.Embedded {
	t.Helper()
	e, err := db.StartEmbedded(t.Context(), dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = e.Stop(ctx)
	})
	return e
}

// killPostgres kills the server of a cluster as the kernel would.
func killPostgres(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// Where it is this process's child; another's is awaited there.
	_, _ = syscall.Wait4(pid, nil, 0, nil)
}

// person is a browser without a screen.
type person struct {
	t      *testing.T
	server *server
	client *http.Client
}

// logIn returns the owner's browser.
func (s *server) logIn() *person {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	p := &person{s.t, s, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if a := p.ask(http.MethodPost, "/login", url.Values{"email": {ownerEmail}, "password": {ownerPassword}}); a.StatusCode != http.StatusSeeOther {
		s.t.Fatalf("log in: %d", a.StatusCode)
	}
	return p
}

// ask sends one request and reads its answer to the end.
func (p *person) ask(method, path string, form url.Values) *http.Response {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.server.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := p.client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	answer.Body = io.NopCloser(strings.NewReader(string(text)))
	return answer
}

// internalWord finds a word of the server's inside. A request's id, a nonce or a hash may
// contain one by chance, but not as a word of its own.
var internalWord = regexp.MustCompile(`\b(dial|socket|pgx|EOF|fleetboard_app)\b|\.s\.PGSQL`)

// away asserts that an answer says that the database is away, in the way that
// its reader understands.
func away(t *testing.T, what string, a *http.Response, kind string) {
	t.Helper()
	text, _ := io.ReadAll(a.Body)
	if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Errorf("%s: %d, Retry-After %q; want 503 with one", what, a.StatusCode, a.Header.Get("Retry-After"))
	}
	if !strings.HasPrefix(a.Header.Get("Content-Type"), kind) {
		t.Errorf("%s: %s; want %s", what, a.Header.Get("Content-Type"), kind)
	}
	if word := internalWord.Find(text); word != nil {
		t.Errorf("%s shows what is internal, %s: %.300s", what, word, text)
	}
	for _, c := range a.Cookies() {
		if c.Name == "sid" {
			t.Errorf("%s touches the session: %s", what, c)
		}
	}
}

// ofMachine sends a call to the API with the owner's token.
func (s *server) ofMachine(method, path string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token("owner-token"))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// PostgreSQL is killed under a running server and started again later. The
// server stays, says 503 to everybody in the meantime, logs nobody out, and
// needs no restart.
func TestTheServerOutlivesItsDatabase(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), "data")
	first := cluster(t, dir)
	s := startOn(t, first.URL(), t.TempDir())
	eventually(t, "a leader", func() bool { _, ok := s.coordinator(); return ok })
	s.submit("Survive")
	owner := s.logIn()
	if a := owner.ask(http.MethodGet, "/board", nil); a.StatusCode != http.StatusOK {
		t.Fatalf("the board: %d", a.StatusCode)
	}

	killPostgres(t, dir)
	eventually(t, "the server noticing it", func() bool { return s.ofMachine(http.MethodGet, "/readyz").StatusCode != http.StatusOK })
	if a := s.ofMachine(http.MethodGet, "/healthz"); a.StatusCode != http.StatusOK {
		t.Errorf("the process lives, yet /healthz says %d", a.StatusCode)
	}
	away(t, "/readyz", s.ofMachine(http.MethodGet, "/readyz"), "text/plain")
	away(t, "/health/coordinator", s.ofMachine(http.MethodGet, "/health/coordinator"), "application/json")
	for _, path := range []string{"/board", "/login", "/agents", "/jobs/FB-1", "/jobs/new", "/status", "/live?on=board"} {
		away(t, path, owner.ask(http.MethodGet, path, nil), "text/html")
	}
	away(t, "log in", owner.ask(http.MethodPost, "/login", url.Values{"email": {ownerEmail}, "password": {ownerPassword}}), "text/html")
	for _, path := range []string{"/jobs", "/jobs/FB-1", "/agents", "/events", "/events/stream", "/coordinator/status"} {
		away(t, path, s.ofMachine(http.MethodGet, "/api/v1"+path), "application/problem+json")
	}

	again := cluster(t, dir)
	if again.URL() != first.URL() {
		t.Fatalf("the cluster came back at %s, not at %s", again.URL(), first.URL())
	}
	// At once, and all of them: no request meets a connection that is dead.
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if a := owner.ask(http.MethodGet, "/board", nil); a.StatusCode != http.StatusOK {
				t.Errorf("the board after the restart: %d %s", a.StatusCode, a.Header.Get("Location"))
			}
		})
	}
	all.Wait()
	s.submit("Go on")
	if job := s.job("FB-1"); job.Title != "Survive" {
		t.Errorf("what was there before is %+v", job)
	}
	since := time.Now()
	eventually(t, "a leader again", func() bool { is, ok := s.coordinator(); return ok && is.Active })
	eventually(t, "notifications again", func() bool { return strings.Count(s.logs.String(), "works again") >= 2 })
	t.Logf("loops worked again %.1f s after the database", time.Since(since).Seconds())
	// One line when it begins and one when it ends, for each that noticed.
	for _, line := range []string{"listening for notifications was interrupted", "sending notifications was interrupted", "leadership cannot be acquired", "leads no longer"} {
		if n := strings.Count(s.logs.String(), line); n > 1 {
			t.Errorf("%q stands %d times in the log", line, n)
		}
	}
}

// The embedded database is a child of the server: where it dies, the server
// starts it again.
func TestTheServerStartsItsDatabaseAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), "data")
	s := start(t, dir, "FLEETBOARD_ADMIN_EMAIL="+ownerEmail, "FLEETBOARD_ADMIN_PASSWORD="+ownerPassword)
	s.submit("Survive")
	owner := s.logIn()
	for round := range 2 {
		killPostgres(t, dir)
		since := time.Now()
		eventually(t, "the database", func() bool {
			return strings.Count(s.logs.String(), "PostgreSQL had ended and runs again") > round && s.answers()
		})
		t.Logf("the database was back after %.1f s", time.Since(since).Seconds())
		if a := owner.ask(http.MethodGet, "/board", nil); a.StatusCode != http.StatusOK {
			t.Errorf("the board: %d", a.StatusCode)
		}
		if job := s.job("FB-1"); job.Title != "Survive" {
			t.Errorf("what was there before is %+v", job)
		}
	}
	s.submit("Go on")
}
