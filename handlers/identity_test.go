package handlers

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/accounts"
	"fleetboard/internal/accounts/idptest"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
)

const idpSecret = "a-secret-of-the-provider"

var (
	adaThere   = idptest.Person{Subject: "sub-ada", Username: "ada", Password: "verysecure", First: "Ada", Last: "There", Email: ownerEmail}
	graceThere = idptest.Person{Subject: "sub-grace", Username: "grace", Password: "verysecure", First: "Grace", Last: "Hopper", Email: "grace@navy.example"}
	eveThere   = idptest.Person{Subject: "sub-eve", Username: "eve", Password: "verysecure", First: "Eve", Last: "There", Email: "eve@example.org"}
)

// withProvider gives the pages a real provider on this machine, called Acme.
func withProvider(t *testing.T) func(*Deps) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	issuer := "http://" + server.Listener.Addr().String()
	client := idptest.Client{ID: t.Name(), Secret: idpSecret, RedirectURI: "http://example.com" + links.IdentityCallback}
	server.Config.Handler = idptest.Handler(issuer, client, adaThere, graceThere, eveThere)
	server.Start()
	t.Cleanup(server.Close)
	return func(d *Deps) {
		d.Provider = accounts.NewProvider(accounts.ProviderConfig{
			Issuer: issuer, ClientID: client.ID, ClientSecret: client.Secret, RedirectURL: client.RedirectURI, Name: "Acme"})
	}
}

// toAcme opens a page that leads to the provider and gives the page there.
func (s *site) toAcme(t *testing.T, path string) string {
	t.Helper()
	res := s.get(path)
	wantStatus(t, res, http.StatusSeeOther)
	page := res.Header.Get("Location")
	if !strings.HasPrefix(page, s.Provider.Issuer()+"/") {
		t.Fatalf("%s leads to %s, not to the provider", path, page)
	}
	return page
}

// back is the callback that the provider sends the browser to.
func back(t *testing.T, page string, who idptest.Person) *url.URL {
	t.Helper()
	to, err := idptest.LogIn(t.Context(), page, who.Username, who.Password)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// arrive opens the callback as a browser does that another site redirects.
func (s *site) arrive(to *url.URL) answer {
	r := request(http.MethodGet, to.RequestURI(), nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	return s.do(r)
}

// via logs in at the provider and comes back.
func (s *site) via(t *testing.T, path string, who idptest.Person) answer {
	t.Helper()
	return s.arrive(back(t, s.toAcme(t, path), who))
}

// viaOrOn is via for somebody who may be logged in already.
func (s *site) viaOrOn(t *testing.T, path string) answer {
	t.Helper()
	if res := s.get(path); !strings.HasPrefix(res.Header.Get("Location"), s.Provider.Issuer()) {
		return res
	}
	return s.via(t, path, adaThere)
}

// linkAda makes the owner's identity at the provider, as linking would.
func (s *site) linkAda(t *testing.T) {
	t.Helper()
	dbfactory.Exec(t, s.db, `INSERT INTO account_identity (issuer, subject, account_id, email)
		SELECT $1, 'sub-ada', id, email FROM account WHERE email = $2`, s.Provider.Issuer(), ownerEmail)
}

func TestIdentityLogIn(t *testing.T) {
	s := ownedSite(t, withProvider(t))
	s.linkAda(t)
	way := document(t, s.get("/login?next=/agents")).Find("a#identity")
	if href, _ := way.Attr("href"); href != "/login/oidc?next=%2Fagents" || !strings.Contains(way.Text(), "Log in with Acme") {
		t.Errorf("the way in is %q to %q", way.Text(), href)
	}
	to := back(t, s.toAcme(t, "/login/oidc?next=/agents"), adaThere)
	visitor := s.cookies["sid"].Value
	res := s.arrive(to)
	wantRedirect(t, res, "/agents")
	if got := res.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control = %q", got)
	}
	wantStatus(t, s.get("/agents"), http.StatusOK)
	// A token that somebody planted before the log in is worth nothing.
	if s.cookies["sid"].Value == visitor {
		t.Fatal("the session has the token of before")
	}
	mine := s.cookies["sid"]
	s.cookies["sid"] = &http.Cookie{Name: "sid", Value: visitor}
	wantRedirect(t, s.get("/agents"), "/login?next=%2Fagents")
	s.cookies["sid"] = mine
	// Who is logged in needs no provider.
	wantRedirect(t, s.get("/login/oidc?next=/agents"), "/agents")

	if text := s.log.String(); !strings.Contains(text, "logged in by the identity provider") {
		t.Error("the log does not tell of it")
	}
	for _, name := range []string{"code", "state"} {
		if value := to.Query().Get(name); value == "" || strings.Contains(s.log.String(), value) {
			t.Errorf("the %s %q is in the log", name, value)
		}
	}
	if strings.Contains(s.log.String(), idpSecret) {
		t.Error("the client's secret is in the log")
	}
}

// The second factor of the account belongs to its password: the provider asks for
// its own.
func TestIdentityLogInAsksForNoCode(t *testing.T) {
	s := ownedSite(t, withProvider(t))
	s.linkAda(t)
	dbfactory.Exec(t, s.db, `INSERT INTO account_totp (account_id, sealed, confirmed_at) SELECT id, 'sealed', now() FROM account`)
	res := s.post("/login", url.Values{"email": {ownerEmail}, "password": {ownerPassword}})
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") == links.Board {
		t.Fatalf("the password alone: status %d, %q", res.StatusCode, res.Header.Get("Location"))
	}
	wantRedirect(t, s.via(t, "/login/oidc", adaThere), links.Board)
	wantStatus(t, s.get(links.Board), http.StatusOK)
}

func TestIdentityLogInGoesNowhereElse(t *testing.T) {
	s := ownedSite(t, withProvider(t))
	s.linkAda(t)
	for _, next := range []string{"https://evil.example.com/", "//evil.example.com", `/\evil.example.com`, "/login"} {
		clear(s.cookies)
		for range 2 { // the second time as one who is logged in
			wantRedirect(t, s.viaOrOn(t, "/login/oidc?next="+url.QueryEscape(next)), links.Board)
		}
	}
}

// The e-mail of the owner at the provider opens nothing.
func TestIdentityUnknown(t *testing.T) {
	s := ownedSite(t, withProvider(t))
	res := s.via(t, "/login/oidc", adaThere)
	wantStatus(t, res, http.StatusForbidden)
	doc := document(t, res)
	text := doc.Find("main").Text()
	for _, want := range []string{ownerEmail, "link Acme under Settings", "ask an owner of a workspace for an invitation"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q: %s", want, text)
		}
	}
	wantRedirect(t, s.get("/board"), "/login")
}

func TestIdentityCallbackRefused(t *testing.T) {
	s := ownedSite(t, withProvider(t))
	s.linkAda(t)
	for name, one := range map[string]struct {
		change func(t *testing.T, s *site, to *url.URL)
		status int
	}{
		"another state":   {func(_ *testing.T, _ *site, to *url.URL) { set(to, "state", "other") }, http.StatusBadRequest},
		"no state":        {func(_ *testing.T, _ *site, to *url.URL) { set(to, "state", "") }, http.StatusBadRequest},
		"no code":         {func(_ *testing.T, _ *site, to *url.URL) { set(to, "code", "") }, http.StatusBadRequest},
		"another browser": {func(_ *testing.T, s *site, _ *url.URL) { clear(s.cookies) }, http.StatusBadRequest},
		"used already": {func(_ *testing.T, s *site, to *url.URL) {
			visitor := s.cookies["sid"]
			s.arrive(to)
			s.cookies["sid"] = visitor
		}, http.StatusBadRequest},
		"tried before with another state": {func(_ *testing.T, s *site, to *url.URL) {
			wrong := *to
			set(&wrong, "state", "other")
			s.arrive(&wrong)
		}, http.StatusBadRequest},
		"begun anew": {func(t *testing.T, s *site, _ *url.URL) { s.toAcme(t, "/login/oidc") }, http.StatusBadRequest},
		"too late":   {func(t *testing.T, s *site, _ *url.URL) { s.age(t, keptFlow, 11*time.Minute) }, http.StatusBadRequest},
		"of another sender": {func(_ *testing.T, _ *site, to *url.URL) { set(to, "iss", "https://evil.example.com") },
			http.StatusForbidden},
		"turned back": {func(_ *testing.T, _ *site, to *url.URL) {
			set(to, "error", "access_denied")
			set(to, "error_description", "<script>alert(1)</script>")
		}, http.StatusForbidden},
		"an error of its own": {func(_ *testing.T, _ *site, to *url.URL) { set(to, "error", "<script>alert(1)</script>") },
			http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			clear(s.cookies)
			to := back(t, s.toAcme(t, "/login/oidc?next=/agents"), adaThere)
			one.change(t, s, to)
			res := s.arrive(to)
			wantStatus(t, res, one.status)
			doc := document(t, res)
			if strings.Contains(doc.Find("main").Text(), "script") || doc.Find("main script").Length() > 0 {
				t.Error("the provider's words are on the page")
			}
			if doc.Find(`main a[href^="/login"]`).Length() == 0 {
				t.Error("the page shows no way on")
			}
			wantRedirect(t, s.get("/agents"), "/login?next=%2Fagents")
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

// age makes what the session keeps older than it is.
func (s *site) age(t *testing.T, name string, by time.Duration) {
	t.Helper()
	ctx, err := s.Sessions.Load(context.Background(), s.cookies["sid"].Value)
	if err != nil {
		t.Fatal(err)
	}
	kept := s.Sessions.GetString(ctx, name)
	at, rest, found := strings.Cut(kept[strings.Index(kept, `"At":"`)+6:], `"`)
	when, err := time.Parse(time.RFC3339Nano, at)
	if err != nil || !found {
		t.Fatalf("%s keeps no time: %v", name, err)
	}
	s.Sessions.Put(ctx, name, strings.TrimSuffix(kept, at+`"`+rest)+when.Add(-by).Format(time.RFC3339Nano)+`"`+rest)
	if _, _, err := s.Sessions.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestIdentityProviderDown(t *testing.T) {
	s := ownedSite(t, func(d *Deps) {
		d.Provider = accounts.NewProvider(accounts.ProviderConfig{Issuer: "http://127.0.0.1:1", ClientID: "c", ClientSecret: "s", RedirectURL: "http://example.com", Name: "Acme"})
	})
	res := s.get("/login/oidc?next=/agents")
	wantStatus(t, res, http.StatusServiceUnavailable)
	if res.Header.Get("Retry-After") != "5" || !strings.Contains(document(t, res).Find("h1").Text(), "Acme does not answer") {
		t.Errorf("Retry-After %q", res.Header.Get("Retry-After"))
	}
	s.logIn(t)
	wantStatus(t, s.get("/board"), http.StatusOK)
}

func TestIdentityWithoutProvider(t *testing.T) {
	s := ownedSite(t)
	if document(t, s.get("/login")).Find("#identity").Length() != 0 {
		t.Error("a way to a provider that is not there")
	}
	s.logIn(t)
	for _, path := range []string{"/login/oidc?invitation=x", "/login/oidc/callback?state=s&code=c", links.IdentityLink} {
		wantStatus(t, s.get(path), http.StatusNotFound)
	}
	wantStatus(t, s.post(links.IdentityUnlink, url.Values{}), http.StatusNotFound)
	wantRedirect(t, s.post(links.IdentityLink, url.Values{}), links.Account)
}

func TestIdentityLink(t *testing.T) {
	s := ownedSite(t, withProvider(t))
	s.logIn(t)
	wantRedirect(t, s.via(t, links.IdentityLink, graceThere), links.IdentityConfirm)
	// Looking at the question answers nothing, however often.
	for range 2 {
		res := s.get(links.IdentityConfirm)
		wantStatus(t, res, http.StatusOK)
		if text := document(t, res).Find("#identity-confirm").Text(); !strings.Contains(text, graceThere.Email) || !strings.Contains(text, ownerEmail) {
			t.Errorf("the question is %q", text)
		}
	}
	// The answer to another question, of another tab, links nobody.
	wantStatus(t, s.post(links.IdentityLink, url.Values{"current": {ownerPassword}, "identity": {"other"}}), http.StatusConflict)
	key := document(t, s.get(links.IdentityConfirm)).Find("input[name=identity]").AttrOr("value", "")
	res := s.post(links.IdentityLink, url.Values{"current": {"wrong password!"}, "identity": {key}})
	wantStatus(t, res, http.StatusUnprocessableEntity)
	if document(t, res).Find("#current-e").Length() != 1 {
		t.Error("the wrong password is not marked")
	}
	wantRedirect(t, s.post(links.IdentityLink, url.Values{"current": {ownerPassword}, "identity": {key}}), links.Account)
	// It is used up.
	wantRedirect(t, s.post(links.IdentityLink, url.Values{"current": {ownerPassword}, "identity": {key}}), links.Account)
	wantRedirect(t, s.get(links.IdentityConfirm), links.Account)
	wantRedirect(t, s.get(links.IdentityLink), links.Account)
	clear(s.cookies)
	wantRedirect(t, s.via(t, "/login/oidc", graceThere), links.Board)

	wantRedirect(t, s.post(links.IdentityUnlink, url.Values{}), links.Account)
	clear(s.cookies)
	wantStatus(t, s.via(t, "/login/oidc", graceThere), http.StatusForbidden)
}

// A link that one person began is not finished by another, in the same browser.
func TestIdentityLinkOfAnother(t *testing.T) {
	s := ownedSite(t, withProvider(t))
	s.logIn(t)
	to := back(t, s.toAcme(t, links.IdentityLink), graceThere)
	kept := s.cookies
	s.cookies = map[string]*http.Cookie{}
	eve := s.invite(t, "eve@example.org")
	s.joinVia(t, eve, eveThere)
	// Eve's session gets what the owner began.
	s.move(t, kept["sid"].Value, keptFlow)
	res := s.arrive(to)
	wantStatus(t, res, http.StatusBadRequest)
	wantRedirect(t, s.get(links.IdentityConfirm), links.Account)
}

// move takes a value out of another session into the browser's.
func (s *site) move(t *testing.T, from, name string) {
	t.Helper()
	there, err := s.Sessions.Load(context.Background(), from)
	if err != nil {
		t.Fatal(err)
	}
	here, err := s.Sessions.Load(context.Background(), s.cookies["sid"].Value)
	if err != nil {
		t.Fatal(err)
	}
	s.Sessions.Put(here, name, s.Sessions.GetString(there, name))
	if _, _, err := s.Sessions.Commit(here); err != nil {
		t.Fatal(err)
	}
}

// invite makes an invitation as the owner and gives its token.
func (s *site) invite(t *testing.T, email string) string {
	t.Helper()
	in, err := s.Accounts.LogIn(t.Context(), ownerEmail, ownerPassword, accounts.Origin{Address: "10.0.0.9"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Accounts.Workspaces(t.Context(), in.ID)
	if err != nil {
		t.Fatal(err)
	}
	who, err := s.Accounts.Person(t.Context(), in.ID, list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := s.Accounts.Invite(t.Context(), who, email, tenancy.RoleMember)
	if err != nil {
		t.Fatal(err)
	}
	return token
}
