package handlers_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers"
	"github.com/fleetboard/fleetboard/handlers/edge"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func TestRouteWithoutNeedPanics(t *testing.T) {
	s := handlertest.OwnedSite(t)
	defer func() {
		if recover() == nil {
			t.Error("a route without a permission was mounted")
		}
	}()
	s.Mount([]web.Route{{Method: http.MethodGet, Path: "/open", Handle: s.Home}})
}

// headersOf every answer, whatever it is.
var headersOf = map[string]string{
	"Content-Security-Policy":      "default-src 'none'; script-src 'self'; style-src 'self';",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "same-origin",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "accelerometer=()",
	"Cache-Control":                "no-store",
	"Strict-Transport-Security":    "max-age=31536000",
	"X-Request-Id":                 "",
}

// headersOfWorker are those that the service worker has otherwise: a browser asks for it again each
// time, and it loads nothing.
var headersOfWorker = map[string]string{"Content-Security-Policy": "default-src 'none'", "Cache-Control": "no-cache"}

// Every route, signed in or not, and what no route answers.
func TestSecurityHeaders(t *testing.T) {
	m := newMatrix(t)
	m.deps.Secure, m.deps.Sessions = true, web.NewSessions(sessions.NewStore(m.DB), true)
	m.Server = handlers.New(m.deps)
	m.Probe()
	routes := append(slices.Clone(m.Routed()), web.Route{Method: "GET", Path: "/nowhere"}, web.Route{Method: "DELETE", Path: "/board"},
		web.Route{Method: "PUT", Path: "/probe/panic"}, web.Route{Method: "GET", Path: "/jobs/a%00b"})
	for _, route := range routes {
		for _, name := range []string{"nobody", "owner"} {
			v := m.visitors[slices.IndexFunc(m.visitors, func(v visitor) bool { return v.name == name })]
			r := handlertest.Request(route.Method, m.path(route), nil)
			r.AddCookie(&http.Cookie{Name: "__Host-sid", Value: v.cookie})
			w := httptest.NewRecorder()
			edge.Headers(true, m).ServeHTTP(w, r)
			if name == "owner" && w.Code == http.StatusSeeOther && strings.HasPrefix(w.Header().Get("Location"), "/login") && route.Need != tenancy.Public && !m.leaves[nameOf(route)] {
				t.Errorf("%s: the owner was not known", nameOf(route))
			}
			assertHeaders(t, route, name, w.Header())
			for _, line := range w.Header().Values("Set-Cookie") {
				cookieIsBound(t, nameOf(route), line)
			}
			m.kept.Restore()
		}
	}
}

// assertHeaders checks what every answer has, whoever gets it.
func assertHeaders(t *testing.T, route web.Route, name string, head http.Header) {
	t.Helper()
	for header, want := range headersOf {
		if route.Path == "/push-worker.js" {
			want = cmp.Or(headersOfWorker[header], want)
		}
		if route.Path == "/blobs/:blob/view" && name == "owner" && header == "Content-Security-Policy" {
			want = "default-src 'none'; frame-ancestors 'none'; sandbox" // nothing that an agent has made runs
		}
		got := head.Get(header)
		kept := header == "Cache-Control" && (route.Path == "/static/*" || got == "no-store, no-transform" || got == "private, no-cache" && name == "owner")
		if !kept && (got == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%s as %s: %s = %q, want %q...", nameOf(route), name, header, got, want)
		}
	}
	if strings.Contains(head.Get("Content-Security-Policy"), "unsafe") {
		t.Errorf("%s: the policy allows what is unsafe", nameOf(route))
	}
}

// cookieIsBound checks that no other host can set a cookie and no script of
// another site sends it.
func cookieIsBound(t *testing.T, where, line string) {
	t.Helper()
	c, err := http.ParseSetCookie(line)
	if err != nil || !strings.HasPrefix(c.Name, "__Host-") || !c.Secure || c.Path != "/" || c.Domain != "" || !c.HttpOnly ||
		c.SameSite != http.SameSiteLaxMode && c.SameSite != http.SameSiteStrictMode {
		t.Errorf("%s sets a cookie that is not bound to this host: %s (%v)", where, line, err)
	}
}

func TestRequestIDIsOurs(t *testing.T) {
	s := handlertest.OwnedSite(t)
	r := handlertest.Request(http.MethodGet, "/healthz", nil)
	r.Header.Set("X-Request-Id", "chosen by the client")
	first, second := s.Do(r).Header.Get("X-Request-Id"), s.Get("/healthz").Header.Get("X-Request-Id")
	if first == "" || first == second || strings.Contains(first, "client") {
		t.Errorf("request ids %q and %q", first, second)
	}
}

func TestStaticFilesAreKept(t *testing.T) {
	s := handlertest.OwnedSite(t)
	href, ok := handlertest.Document(t, s.Get("/login")).Find(`link[rel="stylesheet"]`).Attr("href")
	if !ok {
		t.Fatal("the log-in page has no style sheet")
	}
	res := s.Get(href)
	handlertest.WantStatus(t, res, http.StatusOK)
	if got := res.Header.Get("Cache-Control"); !strings.Contains(got, "immutable") {
		t.Errorf("Cache-Control = %q", got)
	}
	if got := s.Get("/static/css/none.css"); got.StatusCode != http.StatusNotFound || strings.Contains(got.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("a file that is not there: %d, %q", got.StatusCode, got.Header.Get("Cache-Control"))
	}
}

// Every unsafe route, from everywhere that a browser may say it comes from. The
// reports of the policy come from nowhere, and change nothing.
func TestOtherSitesCannotPost(t *testing.T) {
	m := newMatrix(t)
	owner := m.visitors[slices.IndexFunc(m.visitors, func(v visitor) bool { return v.name == "owner" })]
	cases := map[string]struct {
		site, origin string
		refused      bool
	}{
		"the same origin":               {"same-origin", "http://example.com", false},
		"the address bar":               {"none", "", false},
		"the same site":                 {"same-site", "http://evil.example.com", true},
		"another site":                  {"cross-site", "https://evil.example", true},
		"an old browser, another site":  {"", "https://evil.example", true},
		"an old browser, another port":  {"", "http://example.com:8080", true},
		"an old browser, a hidden page": {"", "null", true},
		"an old browser, ours":          {"", "http://example.com", false},
	}
	cells := 0
	for _, route := range m.Routed() {
		if route.Method == http.MethodGet || route.Path == handlers.CSPReportPath {
			continue
		}
		for name, c := range cases {
			cells++
			r := handlertest.Request(route.Method, m.path(route), m.fields)
			r.AddCookie(&http.Cookie{Name: "sid", Value: owner.cookie})
			r.Header.Del("Sec-Fetch-Site")
			if c.site != "" {
				r.Header.Set("Sec-Fetch-Site", c.site)
			}
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			w := httptest.NewRecorder()
			m.ServeHTTP(w, r)
			refused := w.Code == http.StatusForbidden && strings.Contains(w.Body.String(), "came from another site")
			if refused != c.refused {
				t.Errorf("%s from %s: %d, refused: %t", nameOf(route), name, w.Code, refused)
			}
			if c.refused {
				continue
			}
			m.begin()
		}
		if changed := m.kept.Changed(); len(changed) > 0 {
			t.Errorf("%s: another site changed %v", nameOf(route), changed)
		}
	}
	t.Logf("%d requests", cells)
}

func TestBodyLimit(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.Probe()
	s.LogIn(t)
	big := strings.Repeat("x", web.MaxForm+1)
	handlertest.WantStatus(t, s.Post("/probe/write", url.Values{"a": {big}}), http.StatusRequestEntityTooLarge)
	handlertest.WantStatus(t, s.Post("/probe/write", url.Values{"a": {big[:web.MaxForm-len("a=")]}}), http.StatusNoContent)
	handlertest.WantStatus(t, s.Post("/probe/write", url.Values{"a": {big[:web.MaxForm-len("a=")+1]}}), http.StatusRequestEntityTooLarge)

	chunked := handlertest.Request(http.MethodPost, "/probe/write", url.Values{"a": {big}})
	chunked.ContentLength = -1
	handlertest.WantStatus(t, s.Do(chunked), http.StatusRequestEntityTooLarge)

	multipart := handlertest.Request(http.MethodPost, "/probe/write", url.Values{"a": {"b"}})
	multipart.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	handlertest.WantStatus(t, s.Do(multipart), http.StatusUnsupportedMediaType)

	broken := httptest.NewRequest(http.MethodPost, "/probe/write", strings.NewReader("a=%zz"))
	broken.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	handlertest.WantStatus(t, s.Do(broken), http.StatusBadRequest)
}

func TestErrorPages(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.Probe()
	for target, want := range map[string]struct {
		status int
		text   string
	}{
		"/nowhere":        {http.StatusNotFound, "There is no page at this address."},
		"/logout":         {http.StatusMethodNotAllowed, "does not take"},
		"/probe/internal": {http.StatusInternalServerError, "Something went wrong"},
		"/probe/panic":    {http.StatusInternalServerError, "Something went wrong"},
		"/probe/conflict": {http.StatusConflict, "Someone was faster."},
	} {
		t.Run(target, func(t *testing.T) {
			res := s.Get(target)
			handlertest.WantStatus(t, res, want.status)
			text := handlertest.Document(t, res).Find("main").Text()
			if !strings.Contains(text, want.text) || strings.Contains(text, "secret") {
				t.Errorf("page says %q", text)
			}
			if !strings.Contains(text, res.Header.Get("X-Request-Id")) {
				t.Errorf("the page does not show the request id: %q", text)
			}
		})
	}
}

func TestErrorToast(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.Probe()
	for target, status := range map[string]int{"/probe/internal": 500, "/probe/panic": 500, "/probe/conflict": 409, "/nowhere": 404} {
		r := handlertest.Request(http.MethodGet, target, nil)
		r.Header.Set("HX-Request", "true")
		res := s.Do(r)
		handlertest.WantStatus(t, res, status)
		if res.Header.Get("HX-Retarget") != "#toasts" || res.Header.Get("HX-Reswap") != "beforeend" {
			t.Errorf("%s: headers %v", target, res.Header)
		}
		doc := handlertest.Document(t, res)
		if doc.Find(".toastx").Length() != 1 || doc.Find("main, h1").Length() != 0 || strings.Contains(doc.Text(), "secret") {
			t.Errorf("%s: no single toast: %q", target, doc.Text())
		}
	}
}

func TestErrorForPrograms(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.Probe()
	r := httptest.NewRequest(http.MethodGet, "/probe/conflict", nil)
	res := s.Do(r)
	handlertest.WantStatus(t, res, http.StatusConflict)
	body, _ := io.ReadAll(res.Body)
	if string(body) != "Someone was faster.\n" {
		t.Errorf("body = %q", body)
	}
}

func TestRetryAfter(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.Probe()
	res := s.Get("/probe/wait")
	handlertest.WantStatus(t, res, http.StatusTooManyRequests)
	if got := res.Header.Get("Retry-After"); got != "7" {
		t.Errorf("Retry-After = %q", got)
	}
}

func TestFailuresAreLoggedOnce(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.Probe()
	for _, target := range []string{"/probe/internal", "/probe/panic", "/probe/late"} {
		before := len(s.LogText.String())
		id := s.Get(target + "?token=hidden").Header.Get("X-Request-Id")
		lines := s.LogText.String()[before:]
		if n := strings.Count(lines, `msg="request failed"`); n != 1 {
			t.Errorf("%s: logged %d times", target, n)
		}
		if n := strings.Count(lines, "request_id="+id); n != 2 {
			t.Errorf("%s: the id is on %d lines, want failure and access: %s", target, n, lines)
		}
		if strings.Contains(lines, "hidden") {
			t.Errorf("%s: the query is in the log", target)
		}
	}
	before := len(s.LogText.String())
	s.Get("/probe/conflict")
	if lines := s.LogText.String()[before:]; strings.Contains(lines, "request failed") {
		t.Errorf("a refusal is logged as a failure: %s", lines)
	}
}

func TestNoSecretsInAccessLog(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.Get("/setup/fb_setup_secret?x=hidden")
	if text := s.LogText.String(); strings.Contains(text, "fb_setup_secret") || strings.Contains(text, "hidden") {
		t.Error("the log holds the set-up link or the query")
	}
}

func TestGuard(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.Probe()
	conn := dbtest.Owner(t, s.DB)

	handlertest.WantRedirect(t, s.Get("/probe/who?a=1&b=2"), "/login?next=%2Fprobe%2Fwho%3Fa%3D1%26b%3D2")
	handlertest.WantRedirect(t, s.Post("/probe/write", nil), "/login")

	r := handlertest.Request(http.MethodGet, "/probe/who", nil)
	r.Header.Set("HX-Request", "true")
	r.Header.Set("HX-Current-URL", "http://example.com/jobs/FB-1?x=1")
	res := s.Do(r)
	handlertest.WantStatus(t, res, http.StatusUnauthorized)
	if got := res.Header.Get("HX-Redirect"); got != "/login?next=%2Fjobs%2FFB-1%3Fx%3D1" {
		t.Errorf("HX-Redirect = %q", got)
	}
	stream := httptest.NewRequest(http.MethodGet, "/probe/who", nil)
	stream.Header.Set("Accept", "text/event-stream")
	handlertest.WantStatus(t, s.Do(stream), http.StatusUnauthorized)

	s.LogIn(t)
	res = s.Get("/probe/who")
	handlertest.WantStatus(t, res, http.StatusOK)
	if body, _ := io.ReadAll(res.Body); string(body) != "Owner owner" {
		t.Errorf("who = %q", body)
	}
	if got := res.Header.Values("Vary"); !strings.Contains(strings.Join(got, ","), "Cookie") {
		t.Errorf("Vary = %v", got)
	}

	if _, err := conn.Exec(t.Context(), "UPDATE membership SET role = 'viewer'"); err != nil {
		t.Fatal(err)
	}
	res = s.Post("/probe/write", nil)
	handlertest.WantStatus(t, res, http.StatusForbidden)
	if text := handlertest.Document(t, res).Find("main").Text(); !strings.Contains(text, "does not allow") {
		t.Errorf("the page says %q", text)
	}
	if _, err := conn.Exec(t.Context(), "DELETE FROM membership"); err != nil {
		t.Fatal(err)
	}
	handlertest.WantRedirect(t, s.Get("/probe/who"), "/login?next=%2Fprobe%2Fwho")
}

func TestHealth(t *testing.T) {
	var failing error
	s := handlertest.OwnedSite(t, func(d *handlers.Deps) { d.Ready = func(context.Context) error { return failing } })
	handlertest.WantStatus(t, s.Get("/healthz"), http.StatusOK)
	handlertest.WantStatus(t, s.Get("/readyz"), http.StatusOK)
	failing = errors.New("the database is away")
	res := s.Get("/readyz")
	handlertest.WantStatus(t, res, http.StatusServiceUnavailable)
	if body, _ := io.ReadAll(res.Body); strings.Contains(string(body), "away") {
		t.Errorf("body = %q", body)
	}
	handlertest.WantStatus(t, s.Get("/healthz"), http.StatusOK)
}

func TestContentPolicyReports(t *testing.T) {
	s := handlertest.OwnedSite(t)
	send := func(body string) string {
		t.Helper()
		before := len(s.LogText.String())
		r := httptest.NewRequest(http.MethodPost, handlers.CSPReportPath, strings.NewReader(body))
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		handlertest.WantStatus(t, s.Do(r), http.StatusNoContent)
		return s.LogText.String()[before:]
	}
	old := send(`{"csp-report":{"violated-directive":"img-src","blocked-uri":"https://evil.example/x?q=1","document-uri":"http://x/setup/fb_setup_abc"}}`)
	if !strings.Contains(old, "img-src") || strings.Contains(old, "fb_setup_abc") || strings.Contains(old, "q=1") {
		t.Errorf("log: %s", old)
	}
	if fresh := send(`[{"type":"csp-violation","body":{"effectiveDirective":"style-src-attr","blockedURL":"inline"}}]`); !strings.Contains(fresh, "style-src-attr") {
		t.Errorf("log: %s", fresh)
	}
	for _, junk := range []string{"", "null", "[]", "{", `{"csp-report":null}`, strings.Repeat("[", 20000)} {
		if text := send(junk); strings.Contains(text, "policy report") {
			t.Errorf("junk %.20q was logged", junk)
		}
	}
	for range handlers.ReportsPerMinute {
		send(`{"csp-report":{}}`)
	}
	if n := strings.Count(s.LogText.String(), "policy report"); n > handlers.ReportsPerMinute {
		t.Errorf("%d reports logged in a minute", n)
	}
}

// A host gets the agent without a token, just as it is in the source.
func TestTheServerGivesTheAgentScript(t *testing.T) {
	s := handlertest.OwnedSite(t)
	got := s.Get("/agent.sh")
	if kind := got.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/x-shellscript") {
		t.Errorf("it is %q", kind)
	}
	want, err := os.ReadFile("../examples/agent.sh")
	if body := handlertest.Read(t, got, http.StatusOK); err != nil || body != string(want) {
		t.Errorf("the script differs: %v, %d characters", err, len(body))
	}
}
