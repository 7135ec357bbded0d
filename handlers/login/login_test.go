package login_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/setup"
	"github.com/fleetboard/fleetboard/views/layout"
)

func TestLogInPage(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.Probe()
	res := s.Get("/login?next=/probe/who")
	handlertest.WantStatus(t, res, http.StatusOK)
	doc := handlertest.Document(t, res)
	if v, _ := doc.Find(`input[name="next"]`).Attr("value"); v != "/probe/who" {
		t.Errorf("next = %q", v)
	}
	if res.Header.Get("Set-Cookie") != "" {
		t.Error("a stranger gets a session")
	}
	form := url.Values{"email": {handlertest.OwnerEmail}, "password": {handlertest.OwnerPassword}, "next": {"/probe/who"}}
	res = s.Post("/login", form)
	handlertest.WantRedirect(t, res, "/probe/who")
	c := res.Cookies[slices.IndexFunc(res.Cookies, func(c *http.Cookie) bool { return c.Name == "sid" })]
	if c.Name != "sid" || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.MaxAge > 12*3600+1 {
		t.Errorf("cookie = %+v", c)
	}
	if got := res.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control = %q", got)
	}
	handlertest.WantStatus(t, s.Get("/probe/who"), http.StatusOK)
	handlertest.WantRedirect(t, s.Get("/login?next=/probe/who"), "/probe/who")
}

func TestLogInCookieOverHTTPS(t *testing.T) {
	m := web.NewSessions(nil, true)
	if m.Cookie.Name != "__Host-sid" || !m.Cookie.Secure || m.Cookie.Path != "/" || m.Cookie.Domain != "" || m.IdleTimeout != 0 {
		t.Errorf("cookie = %+v", m.Cookie)
	}
}

func TestLogInWrong(t *testing.T) {
	s := handlertest.OwnedSite(t)
	for range 5 {
		res := s.Post("/login", url.Values{"email": {handlertest.OwnerEmail}, "password": {"wrong password"}, "next": {"/agents"}})
		handlertest.WantStatus(t, res, http.StatusUnauthorized)
		doc := handlertest.Document(t, res)
		if got := doc.Find(`[role="alert"]`).Text(); !strings.Contains(got, "do not fit together") {
			t.Errorf("alert = %q", got)
		}
		email, _ := doc.Find(`input[name="email"]`).Attr("value")
		next, _ := doc.Find(`input[name="next"]`).Attr("value")
		password, _ := doc.Find(`input[name="password"]`).Attr("value")
		if email != handlertest.OwnerEmail || next != "/agents" || password != "" {
			t.Errorf("kept e-mail %q, next %q, password %q", email, next, password)
		}
	}
	// The last hash may have outlasted the first wait.
	dbfactory.Exec(t, s.DB, "UPDATE login_throttle SET last_failed_at = now()")
	res := s.Post("/login", url.Values{"email": {handlertest.OwnerEmail}, "password": {handlertest.OwnerPassword}})
	handlertest.WantStatus(t, res, http.StatusTooManyRequests)
	if res.Header.Get("Retry-After") == "" || !strings.Contains(handlertest.Document(t, res).Find(`[role="alert"]`).Text(), "Try again in") {
		t.Error("a throttled person does not learn how long to wait")
	}
	if s.Cookies["sid"] != nil {
		t.Error("a refused log in gave a session")
	}
}

func TestLogInForwardedAddressIsNotBelieved(t *testing.T) {
	s := handlertest.OwnedSite(t)
	conn := dbtest.Owner(t, s.DB)
	for _, addr := range []string{"203.0.113.1", "203.0.113.2"} {
		r := handlertest.Request(http.MethodPost, "/login", url.Values{"email": {addr + "@example.org"}, "password": {"wrong"}})
		r.RemoteAddr = "127.0.0.1:40000" // where a proxy would be
		r.Header.Set("X-Forwarded-For", addr)
		r.Header.Set("X-Real-IP", addr)
		handlertest.WantStatus(t, s.Do(r), http.StatusUnauthorized)
	}
	var most int
	if err := conn.QueryRow(t.Context(), "SELECT max(failures) FROM login_throttle").Scan(&most); err != nil {
		t.Fatal(err)
	}
	if most != 2 {
		t.Errorf("the address was counted %d times, want 2: a header chose it", most)
	}
}

func TestLogInRenewsTheToken(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.Probe()
	planted := &http.Cookie{Name: "sid", Value: "planted-by-an-attacker"}
	s.Cookies["sid"] = planted
	s.LogIn(t)
	first := s.Cookies["sid"]
	if first.Value == planted.Value {
		t.Fatal("the planted token became a session")
	}
	s.LogIn(t)
	if s.Cookies["sid"].Value == first.Value {
		t.Error("the second log in kept the token")
	}
	s.Cookies["sid"] = first
	handlertest.WantRedirect(t, s.Get("/probe/who"), "/login?next=%2Fprobe%2Fwho")
}

func TestLogOut(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.Probe()
	s.LogIn(t)
	old := s.Cookies["sid"]
	handlertest.WantRedirect(t, s.Post("/logout", nil), "/login")
	if s.Cookies["sid"] != nil {
		t.Error("the browser keeps the cookie")
	}
	s.Cookies["sid"] = old
	handlertest.WantRedirect(t, s.Get("/probe/who"), "/login?next=%2Fprobe%2Fwho")
	handlertest.WantRedirect(t, s.Post("/logout", nil), "/login")
}

func TestSetUpPage(t *testing.T) {
	s := handlertest.NewSite(t, setup.BootstrapInput{})
	s.Probe()
	target := "/setup/" + s.Setup
	res := s.Get(target)
	handlertest.WantStatus(t, res, http.StatusOK)
	if action, _ := handlertest.Document(t, res).Find("form").Attr("action"); action != target {
		t.Errorf("the form goes to %q", action)
	}

	res = s.Post(target, url.Values{"name": {"Ada"}, "email": {handlertest.OwnerEmail}, "password": {"short"}})
	handlertest.WantStatus(t, res, http.StatusUnprocessableEntity)
	doc := handlertest.Document(t, res)
	if got := doc.Find("#password-e").Text(); !strings.Contains(got, "at least 12") {
		t.Errorf("at the password: %q", got)
	}
	if v, _ := doc.Find(`input[name="name"]`).Attr("value"); v != "Ada" {
		t.Errorf("the typed name became %q", v)
	}

	handlertest.WantRedirect(t, s.Post(target, url.Values{"name": {"Ada"}, "email": {handlertest.OwnerEmail}, "password": {handlertest.OwnerPassword}}), "/board")
	handlertest.WantStatus(t, s.Get("/probe/who"), http.StatusOK)
	handlertest.WantStatus(t, s.Get(target), http.StatusNotFound)
	handlertest.WantStatus(t, s.Post(target, url.Values{"name": {"Eve"}, "email": {"eve@example.org"}, "password": {handlertest.OwnerPassword}}), http.StatusNotFound)
}

func TestSetUpPageUnknown(t *testing.T) {
	s := handlertest.OwnedSite(t)
	for _, token := range []string{"x", "fb_setup_x_y", "..%2f..", "%00"} {
		res := s.Get("/setup/" + token)
		handlertest.WantStatus(t, res, http.StatusNotFound)
		if text := handlertest.Document(t, res).Find("main").Text(); !strings.Contains(text, "not valid any more") {
			t.Errorf("%s: page says %q", token, text)
		}
	}
}

func TestTheme(t *testing.T) {
	s := handlertest.OwnedSite(t)
	look := func() string {
		t.Helper()
		theme, _ := handlertest.Document(t, s.Get("/login")).Find("html").Attr("data-theme")
		return theme
	}
	for _, step := range []struct {
		choice string
		want   layout.Theme
	}{{"dark", layout.ThemeDark}, {"light", layout.ThemeLight}, {"system", layout.ThemeSystem}} {
		handlertest.WantRedirect(t, s.Post("/theme", url.Values{"theme": {step.choice}, "next": {"/agents?x=1"}}), "/agents?x=1")
		if got := look(); got != step.want.Attr() {
			t.Errorf("%s: the page has theme %q", step.choice, got)
		}
	}
	handlertest.WantStatus(t, s.Post("/theme", url.Values{"theme": {`"><script>`}}), http.StatusUnprocessableEntity)
	s.Cookies["theme"] = &http.Cookie{Name: "theme", Value: "evil"}
	if got := look(); got != "" {
		t.Errorf("an unknown cookie became theme %q", got)
	}
}
