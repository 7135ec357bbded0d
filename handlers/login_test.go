package handlers

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"fleetboard/db/dbfactory"
	"fleetboard/db/dbtest"
	"fleetboard/handlers/web"
	"fleetboard/internal/accounts"
	"fleetboard/views"
)

func TestLogInPage(t *testing.T) {
	s := ownedSite(t)
	s.probe()
	res := s.get("/login?next=/probe/who")
	wantStatus(t, res, http.StatusOK)
	doc := document(t, res)
	if v, _ := doc.Find(`input[name="next"]`).Attr("value"); v != "/probe/who" {
		t.Errorf("next = %q", v)
	}
	if res.Header.Get("Set-Cookie") != "" {
		t.Error("a stranger gets a session")
	}
	form := url.Values{"email": {ownerEmail}, "password": {ownerPassword}, "next": {"/probe/who"}}
	res = s.post("/login", form)
	wantRedirect(t, res, "/probe/who")
	c := res.cookies[slices.IndexFunc(res.cookies, func(c *http.Cookie) bool { return c.Name == "sid" })]
	if c.Name != "sid" || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.MaxAge > 12*3600+1 {
		t.Errorf("cookie = %+v", c)
	}
	if got := res.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control = %q", got)
	}
	wantStatus(t, s.get("/probe/who"), http.StatusOK)
	wantRedirect(t, s.get("/login?next=/probe/who"), "/probe/who")
}

func TestLogInCookieOverHTTPS(t *testing.T) {
	m := web.NewSessions(nil, true)
	if m.Cookie.Name != "__Host-sid" || !m.Cookie.Secure || m.Cookie.Path != "/" || m.Cookie.Domain != "" || m.IdleTimeout != 0 {
		t.Errorf("cookie = %+v", m.Cookie)
	}
}

func TestLogInWrong(t *testing.T) {
	s := ownedSite(t)
	for range 5 {
		res := s.post("/login", url.Values{"email": {ownerEmail}, "password": {"wrong password"}, "next": {"/agents"}})
		wantStatus(t, res, http.StatusUnauthorized)
		doc := document(t, res)
		if got := doc.Find(`[role="alert"]`).Text(); !strings.Contains(got, "do not fit together") {
			t.Errorf("alert = %q", got)
		}
		email, _ := doc.Find(`input[name="email"]`).Attr("value")
		next, _ := doc.Find(`input[name="next"]`).Attr("value")
		password, _ := doc.Find(`input[name="password"]`).Attr("value")
		if email != ownerEmail || next != "/agents" || password != "" {
			t.Errorf("kept e-mail %q, next %q, password %q", email, next, password)
		}
	}
	// The last hash may have outlasted the first wait.
	dbfactory.Exec(t, s.db, "UPDATE login_throttle SET last_failed_at = now()")
	res := s.post("/login", url.Values{"email": {ownerEmail}, "password": {ownerPassword}})
	wantStatus(t, res, http.StatusTooManyRequests)
	if res.Header.Get("Retry-After") == "" || !strings.Contains(document(t, res).Find(`[role="alert"]`).Text(), "Try again in") {
		t.Error("a throttled person does not learn how long to wait")
	}
	if s.cookies["sid"] != nil {
		t.Error("a refused log in gave a session")
	}
}

func TestLogInForwardedAddressIsNotBelieved(t *testing.T) {
	s := ownedSite(t)
	conn := dbtest.Owner(t, s.db)
	for _, addr := range []string{"203.0.113.1", "203.0.113.2"} {
		r := request(http.MethodPost, "/login", url.Values{"email": {addr + "@example.org"}, "password": {"wrong"}})
		r.RemoteAddr = "127.0.0.1:40000" // where a proxy would be
		r.Header.Set("X-Forwarded-For", addr)
		r.Header.Set("X-Real-IP", addr)
		wantStatus(t, s.do(r), http.StatusUnauthorized)
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
	s := ownedSite(t)
	s.probe()
	planted := &http.Cookie{Name: "sid", Value: "planted-by-an-attacker"}
	s.cookies["sid"] = planted
	s.logIn(t)
	first := s.cookies["sid"]
	if first.Value == planted.Value {
		t.Fatal("the planted token became a session")
	}
	s.logIn(t)
	if s.cookies["sid"].Value == first.Value {
		t.Error("the second log in kept the token")
	}
	s.cookies["sid"] = first
	wantRedirect(t, s.get("/probe/who"), "/login?next=%2Fprobe%2Fwho")
}

func TestLogOut(t *testing.T) {
	s := ownedSite(t)
	s.probe()
	s.logIn(t)
	old := s.cookies["sid"]
	wantRedirect(t, s.post("/logout", nil), "/login")
	if s.cookies["sid"] != nil {
		t.Error("the browser keeps the cookie")
	}
	s.cookies["sid"] = old
	wantRedirect(t, s.get("/probe/who"), "/login?next=%2Fprobe%2Fwho")
	wantRedirect(t, s.post("/logout", nil), "/login")
}

func TestSetUpPage(t *testing.T) {
	s := newSite(t, accounts.BootstrapInput{})
	s.probe()
	target := "/setup/" + s.setup
	res := s.get(target)
	wantStatus(t, res, http.StatusOK)
	if action, _ := document(t, res).Find("form").Attr("action"); action != target {
		t.Errorf("the form goes to %q", action)
	}

	res = s.post(target, url.Values{"name": {"Ada"}, "email": {ownerEmail}, "password": {"short"}})
	wantStatus(t, res, http.StatusUnprocessableEntity)
	doc := document(t, res)
	if got := doc.Find("#password-e").Text(); !strings.Contains(got, "at least 12") {
		t.Errorf("at the password: %q", got)
	}
	if v, _ := doc.Find(`input[name="name"]`).Attr("value"); v != "Ada" {
		t.Errorf("the typed name became %q", v)
	}

	wantRedirect(t, s.post(target, url.Values{"name": {"Ada"}, "email": {ownerEmail}, "password": {ownerPassword}}), "/board")
	wantStatus(t, s.get("/probe/who"), http.StatusOK)
	wantStatus(t, s.get(target), http.StatusNotFound)
	wantStatus(t, s.post(target, url.Values{"name": {"Eve"}, "email": {"eve@example.org"}, "password": {ownerPassword}}), http.StatusNotFound)
}

func TestSetUpPageUnknown(t *testing.T) {
	s := ownedSite(t)
	for _, token := range []string{"x", "fb_setup_x_y", "..%2f..", "%00"} {
		res := s.get("/setup/" + token)
		wantStatus(t, res, http.StatusNotFound)
		if text := document(t, res).Find("main").Text(); !strings.Contains(text, "not valid any more") {
			t.Errorf("%s: page says %q", token, text)
		}
	}
}

func TestTheme(t *testing.T) {
	s := ownedSite(t)
	look := func() string {
		t.Helper()
		theme, _ := document(t, s.get("/login")).Find("html").Attr("data-theme")
		return theme
	}
	for _, step := range []struct {
		choice string
		want   views.Theme
	}{{"dark", views.ThemeDark}, {"light", views.ThemeLight}, {"system", views.ThemeSystem}} {
		wantRedirect(t, s.post("/theme", url.Values{"theme": {step.choice}, "next": {"/agents?x=1"}}), "/agents?x=1")
		if got := look(); got != step.want.Attr() {
			t.Errorf("%s: the page has theme %q", step.choice, got)
		}
	}
	wantStatus(t, s.post("/theme", url.Values{"theme": {`"><script>`}}), http.StatusUnprocessableEntity)
	s.cookies["theme"] = &http.Cookie{Name: "theme", Value: "evil"}
	if got := look(); got != "" {
		t.Errorf("an unknown cookie became theme %q", got)
	}
}
