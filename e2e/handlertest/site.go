package handlertest

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

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/apptest"
	"github.com/fleetboard/fleetboard/handlers"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/accounts/setup"
)

// The owner of an OwnedSite.
const (
	OwnerEmail    = "ada@example.org"
	OwnerPassword = "correct horse battery"
)

// Site is the server on a real database, with an owner and one browser.
type Site struct {
	*handlers.Server
	DB      *db.DB
	Setup   string // the set-up link's token, where the owner has no password
	Cookies map[string]*http.Cookie
	LogText *logText
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

// NewSite starts a server whose first start was given in.
func NewSite(t *testing.T, in setup.BootstrapInput, change ...func(*handlers.Deps)) *Site {
	t.Helper()
	d, text := dbtest.New(t), &logText{}
	log := slog.New(slog.NewTextHandler(text, &slog.HandlerOptions{Level: slog.LevelDebug}))
	services := apptest.Build(t, d, logTo(log))
	in.DataDir = t.TempDir()
	first, err := services.Accounts.Setup.Bootstrap(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	deps := services.Pages()
	deps.Sessions = web.NewSessions(sessions.NewStore(d), false)
	for _, f := range change {
		f(&deps)
	}
	return &Site{Server: handlers.New(deps), DB: d, Setup: first.SetupToken, Cookies: map[string]*http.Cookie{}, LogText: text}
}

// OwnedSite starts a server whose owner can log in.
func OwnedSite(t *testing.T, change ...func(*handlers.Deps)) *Site {
	t.Helper()
	return NewSite(t, setup.BootstrapInput{AdminEmail: OwnerEmail, AdminPassword: OwnerPassword}, change...)
}

// Request returns one of a browser that looks at a page of this server.
func Request(method, target string, fields url.Values) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(fields.Encode()))
	if fields != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

// Answer is what came back, all of it read.
type Answer struct {
	StatusCode int
	Header     http.Header
	Body       *bytes.Buffer
	Cookies    []*http.Cookie
}

// Do sends a request with the browser's cookies and keeps the new ones.
func (s *Site) Do(r *http.Request) Answer {
	for _, c := range s.Cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	res := Answer{StatusCode: w.Code, Header: w.Header(), Body: w.Body}
	for _, line := range w.Header().Values("Set-Cookie") {
		if c, err := http.ParseSetCookie(line); err == nil {
			res.Cookies = append(res.Cookies, c)
		}
	}
	for _, c := range res.Cookies {
		if c.MaxAge < 0 {
			delete(s.Cookies, c.Name)
			continue
		}
		s.Cookies[c.Name] = c
	}
	return res
}

// Get gets a page.
func (s *Site) Get(target string) Answer { return s.Do(Request(http.MethodGet, target, nil)) }

// Post sends a form.
func (s *Site) Post(target string, fields url.Values) Answer {
	return s.Do(Request(http.MethodPost, target, fields))
}

// LogIn logs the owner in.
func (s *Site) LogIn(t *testing.T) {
	t.Helper()
	res := s.Post("/login", url.Values{"email": {OwnerEmail}, "password": {OwnerPassword}})
	WantRedirect(t, res, "/board")
	if s.Cookies["sid"] == nil {
		t.Fatal("no session cookie after the log in")
	}
}

// WantStatus asserts an answer's status.
func WantStatus(t *testing.T, res Answer, status int) {
	t.Helper()
	if res.StatusCode != status {
		t.Fatalf("status = %d, want %d", res.StatusCode, status)
	}
}

// WantRedirect asserts where an answer leads.
func WantRedirect(t *testing.T, res Answer, to string) {
	t.Helper()
	WantStatus(t, res, http.StatusSeeOther)
	if got := res.Header.Get("Location"); got != to {
		t.Fatalf("goes on to %q, want %q", got, to)
	}
}

// Document reads an answer's page.
func Document(t *testing.T, res Answer) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
