package login_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers"
	"github.com/fleetboard/fleetboard/handlers/login"
	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/views/links"
)

func TestIdentityLogIn(t *testing.T) {
	s := handlertest.OwnedSite(t, handlertest.WithProvider(t))
	s.LinkAda(t)
	way := handlertest.Document(t, s.Get("/login?next=/agents")).Find("a#identity")
	if href, _ := way.Attr("href"); href != "/login/oidc?next=%2Fagents" || !strings.Contains(way.Text(), "Log in with Acme") {
		t.Errorf("the way in is %q to %q", way.Text(), href)
	}
	to := handlertest.Back(t, s.ToAcme(t, "/login/oidc?next=/agents"), handlertest.AdaThere)
	visitor := s.Cookies["sid"].Value
	res := s.Arrive(to)
	handlertest.WantRedirect(t, res, "/agents")
	if got := res.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control = %q", got)
	}
	handlertest.WantStatus(t, s.Get("/agents"), http.StatusOK)
	// A token that somebody planted before the log in is worth nothing.
	if s.Cookies["sid"].Value == visitor {
		t.Fatal("the session has the token of before")
	}
	mine := s.Cookies["sid"]
	s.Cookies["sid"] = &http.Cookie{Name: "sid", Value: visitor}
	handlertest.WantRedirect(t, s.Get("/agents"), "/login?next=%2Fagents")
	s.Cookies["sid"] = mine
	// Who is logged in needs no provider.
	handlertest.WantRedirect(t, s.Get("/login/oidc?next=/agents"), "/agents")

	if text := s.LogText.String(); !strings.Contains(text, "logged in by the identity provider") {
		t.Error("the log does not tell of it")
	}
	for _, name := range []string{"code", "state"} {
		if value := to.Query().Get(name); value == "" || strings.Contains(s.LogText.String(), value) {
			t.Errorf("the %s %q is in the log", name, value)
		}
	}
	if strings.Contains(s.LogText.String(), handlertest.ProviderSecret) {
		t.Error("the client's secret is in the log")
	}
}

// The second factor of the account belongs to its password: the provider has
// its own.
func TestIdentityLogInAsksForNoCode(t *testing.T) {
	s := handlertest.OwnedSite(t, handlertest.WithProvider(t))
	s.LinkAda(t)
	dbfactory.Exec(t, s.DB, `INSERT INTO account_totp (account_id, sealed, confirmed_at) SELECT id, 'sealed', now() FROM account`)
	res := s.Post("/login", url.Values{"email": {handlertest.OwnerEmail}, "password": {handlertest.OwnerPassword}})
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") == links.Board {
		t.Fatalf("the password alone: status %d, %q", res.StatusCode, res.Header.Get("Location"))
	}
	handlertest.WantRedirect(t, s.Via(t, "/login/oidc", handlertest.AdaThere), links.Board)
	handlertest.WantStatus(t, s.Get(links.Board), http.StatusOK)
}

func TestIdentityLogInGoesNowhereElse(t *testing.T) {
	s := handlertest.OwnedSite(t, handlertest.WithProvider(t))
	s.LinkAda(t)
	for _, next := range []string{"https://evil.example.com/", "//evil.example.com", `/\evil.example.com`, "/login"} {
		clear(s.Cookies)
		for range 2 { // the second time as one who is logged in
			handlertest.WantRedirect(t, s.ViaOrOn(t, "/login/oidc?next="+url.QueryEscape(next)), links.Board)
		}
	}
}

// The e-mail of the owner at the provider opens nothing.
func TestIdentityUnknown(t *testing.T) {
	s := handlertest.OwnedSite(t, handlertest.WithProvider(t))
	res := s.Via(t, "/login/oidc", handlertest.AdaThere)
	handlertest.WantStatus(t, res, http.StatusForbidden)
	doc := handlertest.Document(t, res)
	text := doc.Find("main").Text()
	for _, want := range []string{handlertest.OwnerEmail, "link Acme under Settings", "ask an owner of a workspace for an invitation"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q: %s", want, text)
		}
	}
	handlertest.WantRedirect(t, s.Get("/board"), "/login")
}

func TestIdentityCallbackRefused(t *testing.T) {
	s := handlertest.OwnedSite(t, handlertest.WithProvider(t))
	s.LinkAda(t)
	for name, one := range map[string]struct {
		change func(t *testing.T, s *handlertest.Site, to *url.URL)
		status int
	}{
		"another state":   {func(_ *testing.T, _ *handlertest.Site, to *url.URL) { set(to, "state", "other") }, http.StatusBadRequest},
		"no state":        {func(_ *testing.T, _ *handlertest.Site, to *url.URL) { set(to, "state", "") }, http.StatusBadRequest},
		"no code":         {func(_ *testing.T, _ *handlertest.Site, to *url.URL) { set(to, "code", "") }, http.StatusBadRequest},
		"another browser": {func(_ *testing.T, s *handlertest.Site, _ *url.URL) { clear(s.Cookies) }, http.StatusBadRequest},
		"used already": {func(_ *testing.T, s *handlertest.Site, to *url.URL) {
			visitor := s.Cookies["sid"]
			s.Arrive(to)
			s.Cookies["sid"] = visitor
		}, http.StatusBadRequest},
		"tried before with another state": {func(_ *testing.T, s *handlertest.Site, to *url.URL) {
			wrong := *to
			set(&wrong, "state", "other")
			s.Arrive(&wrong)
		}, http.StatusBadRequest},
		"begun anew": {func(t *testing.T, s *handlertest.Site, _ *url.URL) { s.ToAcme(t, "/login/oidc") }, http.StatusBadRequest},
		"too late":   {func(t *testing.T, s *handlertest.Site, _ *url.URL) { s.Age(t, login.KeptFlow, 11*time.Minute) }, http.StatusBadRequest},
		"of another sender": {func(_ *testing.T, _ *handlertest.Site, to *url.URL) { set(to, "iss", "https://evil.example.com") },
			http.StatusForbidden},
		"turned back": {func(_ *testing.T, _ *handlertest.Site, to *url.URL) {
			set(to, "error", "access_denied")
			set(to, "error_description", "<script>alert(1)</script>")
		}, http.StatusForbidden},
		"an error of its own": {func(_ *testing.T, _ *handlertest.Site, to *url.URL) { set(to, "error", "<script>alert(1)</script>") },
			http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			clear(s.Cookies)
			to := handlertest.Back(t, s.ToAcme(t, "/login/oidc?next=/agents"), handlertest.AdaThere)
			one.change(t, s, to)
			res := s.Arrive(to)
			handlertest.WantStatus(t, res, one.status)
			doc := handlertest.Document(t, res)
			if strings.Contains(doc.Find("main").Text(), "script") || doc.Find("main script").Length() > 0 {
				t.Error("the provider's words are on the page")
			}
			if doc.Find(`main a[href^="/login"]`).Length() == 0 {
				t.Error("the page shows no way on")
			}
			handlertest.WantRedirect(t, s.Get("/agents"), "/login?next=%2Fagents")
		})
	}
}

func set(to *url.URL, name, value string) {
	v := to.Query()
	v.Set(name, value)
	if value == "" {
		v.Del(name)
	}
	to.RawQuery = v.Encode()
}

func TestIdentityProviderDown(t *testing.T) {
	s := handlertest.OwnedSite(t, func(d *handlers.Deps) {
		d.Provider = oidc.NewProvider(oidc.Config{Issuer: "http://127.0.0.1:1", ClientID: "c", ClientSecret: "s", RedirectURL: "http://example.com", Name: "Acme"})
	})
	res := s.Get("/login/oidc?next=/agents")
	handlertest.WantStatus(t, res, http.StatusServiceUnavailable)
	if res.Header.Get("Retry-After") != "5" || !strings.Contains(handlertest.Document(t, res).Find("h1").Text(), "Acme does not answer") {
		t.Errorf("Retry-After %q", res.Header.Get("Retry-After"))
	}
	s.LogIn(t)
	handlertest.WantStatus(t, s.Get("/board"), http.StatusOK)
}

func TestIdentityWithoutProvider(t *testing.T) {
	s := handlertest.OwnedSite(t)
	if handlertest.Document(t, s.Get("/login")).Find("#identity").Length() != 0 {
		t.Error("a way to a provider that is not there")
	}
	s.LogIn(t)
	for _, path := range []string{"/login/oidc?invitation=x", "/login/oidc/callback?state=s&code=c", links.IdentityLink} {
		handlertest.WantStatus(t, s.Get(path), http.StatusNotFound)
	}
	handlertest.WantStatus(t, s.Post(links.IdentityUnlink, url.Values{}), http.StatusNotFound)
	handlertest.WantRedirect(t, s.Post(links.IdentityLink, url.Values{}), links.Account)
}

func TestIdentityLink(t *testing.T) {
	s := handlertest.OwnedSite(t, handlertest.WithProvider(t))
	s.LogIn(t)
	handlertest.WantRedirect(t, s.Via(t, links.IdentityLink, handlertest.GraceThere), links.IdentityConfirm)
	// Looking at the question answers nothing, however often.
	for range 2 {
		res := s.Get(links.IdentityConfirm)
		handlertest.WantStatus(t, res, http.StatusOK)
		if text := handlertest.Document(t, res).Find("#identity-confirm").Text(); !strings.Contains(text, handlertest.GraceThere.Email) || !strings.Contains(text, handlertest.OwnerEmail) {
			t.Errorf("the question is %q", text)
		}
	}
	// The answer to another question, of another tab, links nobody.
	handlertest.WantStatus(t, s.Post(links.IdentityLink, url.Values{"current": {handlertest.OwnerPassword}, "identity": {"other"}}), http.StatusConflict)
	key := handlertest.Document(t, s.Get(links.IdentityConfirm)).Find("input[name=identity]").AttrOr("value", "")
	res := s.Post(links.IdentityLink, url.Values{"current": {"wrong password!"}, "identity": {key}})
	handlertest.WantStatus(t, res, http.StatusUnprocessableEntity)
	if handlertest.Document(t, res).Find("#current-e").Length() != 1 {
		t.Error("the wrong password is not marked")
	}
	handlertest.WantRedirect(t, s.Post(links.IdentityLink, url.Values{"current": {handlertest.OwnerPassword}, "identity": {key}}), links.Account)
	// It is used up.
	handlertest.WantRedirect(t, s.Post(links.IdentityLink, url.Values{"current": {handlertest.OwnerPassword}, "identity": {key}}), links.Account)
	handlertest.WantRedirect(t, s.Get(links.IdentityConfirm), links.Account)
	handlertest.WantRedirect(t, s.Get(links.IdentityLink), links.Account)
	clear(s.Cookies)
	handlertest.WantRedirect(t, s.Via(t, "/login/oidc", handlertest.GraceThere), links.Board)

	handlertest.WantRedirect(t, s.Post(links.IdentityUnlink, url.Values{}), links.Account)
	clear(s.Cookies)
	handlertest.WantStatus(t, s.Via(t, "/login/oidc", handlertest.GraceThere), http.StatusForbidden)
}

// A link that one person began is not finished by another, in the same browser.
func TestIdentityLinkOfAnother(t *testing.T) {
	s := handlertest.OwnedSite(t, handlertest.WithProvider(t))
	s.LogIn(t)
	to := handlertest.Back(t, s.ToAcme(t, links.IdentityLink), handlertest.GraceThere)
	kept := s.Cookies
	s.Cookies = map[string]*http.Cookie{}
	eve := s.Invite(t, "eve@example.org")
	s.JoinVia(t, eve, handlertest.EveThere)
	// Eve's session gets what the owner began.
	s.Move(t, kept["sid"].Value, login.KeptFlow)
	res := s.Arrive(to)
	handlertest.WantStatus(t, res, http.StatusBadRequest)
	handlertest.WantRedirect(t, s.Get(links.IdentityConfirm), links.Account)
}
