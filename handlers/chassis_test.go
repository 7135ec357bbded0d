package handlers

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"fleetboard/db"
	"fleetboard/db/dbtest"
	"fleetboard/handlers/web"
	"fleetboard/internal/accounts"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
	"fleetboard/internal/kanban"
	"fleetboard/internal/notifier"
)

const (
	ownerEmail    = "ada@example.org"
	ownerPassword = "correct horse battery"
)

// site is the server on a real database, with an owner and one browser.
type site struct {
	*Server
	db      *db.DB
	setup   string // the set-up link's token, where the owner has no password
	cookies map[string]*http.Cookie
	log     *logText
}

// logText is a log that tests read.
type logText struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func newSite(t *testing.T, in accounts.BootstrapInput, change ...func(*Deps)) *site {
	t.Helper()
	d, text := dbtest.New(t), &logText{}
	log := slog.New(slog.NewTextHandler(text, &slog.HandlerOptions{Level: slog.LevelDebug}))
	wake := notifier.New(d, log)
	people := accounts.New(d, bytes.Repeat([]byte{7}, 32), wake, log)
	in.DataDir = t.TempDir()
	first, err := people.Bootstrap(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	list, events := jobs.NewService(d, wake, dbtest.Vault(d)), eventlog.New(d)
	deps := Deps{
		Accounts: people,
		Sessions: web.NewSessions(accounts.NewSessionStore(d), false),
		Log:      log,
		Jobs:     list,
		Fleet:    fleet.NewService(d, wake),
		Dispatch: dispatch.New(d, list, wake, people, log),
		Kanban:   kanban.New(d, events, wake, log),
		Events:   events,
	}
	for _, f := range change {
		f(&deps)
	}
	return &site{Server: New(deps), db: d, setup: first.SetupToken, cookies: map[string]*http.Cookie{}, log: text}
}

func ownedSite(t *testing.T, change ...func(*Deps)) *site {
	t.Helper()
	return newSite(t, accounts.BootstrapInput{AdminEmail: ownerEmail, AdminPassword: ownerPassword}, change...)
}

// request is one of a browser that looks at a page of this server.
func request(method, target string, fields url.Values) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(fields.Encode()))
	if fields != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

// answer is what came back, all of it read.
type answer struct {
	StatusCode int
	Header     http.Header
	Body       *bytes.Buffer
	cookies    []*http.Cookie
}

// do sends a request with the browser's cookies and keeps the new ones.
func (s *site) do(r *http.Request) answer {
	for _, c := range s.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	res := answer{StatusCode: w.Code, Header: w.Header(), Body: w.Body}
	for _, line := range w.Header().Values("Set-Cookie") {
		if c, err := http.ParseSetCookie(line); err == nil {
			res.cookies = append(res.cookies, c)
		}
	}
	for _, c := range res.cookies {
		if c.MaxAge < 0 {
			delete(s.cookies, c.Name)
			continue
		}
		s.cookies[c.Name] = c
	}
	return res
}

func (s *site) get(target string) answer { return s.do(request(http.MethodGet, target, nil)) }

func (s *site) post(target string, fields url.Values) answer {
	return s.do(request(http.MethodPost, target, fields))
}

func (s *site) logIn(t *testing.T) {
	t.Helper()
	res := s.post("/login", url.Values{"email": {ownerEmail}, "password": {ownerPassword}})
	wantRedirect(t, res, "/board")
	if s.cookies["sid"] == nil {
		t.Fatal("no session cookie after the log in")
	}
}

func wantStatus(t *testing.T, res answer, status int) {
	t.Helper()
	if res.StatusCode != status {
		t.Fatalf("status = %d, want %d", res.StatusCode, status)
	}
}

func wantRedirect(t *testing.T, res answer, to string) {
	t.Helper()
	wantStatus(t, res, http.StatusSeeOther)
	if got := res.Header.Get("Location"); got != to {
		t.Fatalf("goes on to %q, want %q", got, to)
	}
}

func document(t *testing.T, res answer) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
