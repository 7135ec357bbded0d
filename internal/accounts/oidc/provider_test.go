package oidc

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/accounts/idptest"
	"github.com/fleetboard/fleetboard/internal/fault"
)

const (
	ourCallback    = "http://fleet.example.com/login/oidc/callback"
	providerSecret = "a-secret-of-the-provider"
)

var grace = idptest.Person{Subject: "sub-grace", Username: "grace", Password: "verysecure", First: "Grace", Last: "Hopper", Email: "Grace@Example.org"}

// realProvider returns one of another project, listening on this machine.
func realProvider(t *testing.T, people ...idptest.Person) *Provider {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	issuer := "http://" + server.Listener.Addr().String()
	client := idptest.Client{ID: t.Name(), Secret: providerSecret, RedirectURI: ourCallback}
	server.Config.Handler = idptest.Handler(issuer, client, people...)
	server.Start()
	t.Cleanup(server.Close)
	return NewProvider(Config{Issuer: issuer, ClientID: client.ID, ClientSecret: client.Secret, RedirectURL: ourCallback, Name: "Acme"})
}

// there goes to the provider and comes back.
func there(t *testing.T, p *Provider, who idptest.Person) (Flow, url.Values) {
	t.Helper()
	page, flow, err := p.Begin(t.Context())
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	back, err := idptest.LogIn(t.Context(), page, who.Username, who.Password)
	if err != nil {
		t.Fatalf("at the provider: %v", err)
	}
	if at := back.Scheme + "://" + back.Host + back.Path; at != ourCallback {
		t.Fatalf("sent back to %s", at)
	}
	return flow, back.Query()
}

func TestRealProvider(t *testing.T) {
	p := realProvider(t, grace)
	flow, answer := there(t, p, grace)
	who, err := p.Finish(t.Context(), flow, answer)
	want := Claims{Issuer: p.Issuer(), Subject: "sub-grace", Email: "grace@example.org", Name: "Grace Hopper"}
	if err != nil || who != want {
		t.Fatalf("%+v, %v, want %+v", who, err, want)
	}
	// The code opens nothing a second time.
	_, err = p.Finish(t.Context(), flow, answer)
	wantFault(t, err, fault.Malformed)
}

// What goes to the provider in the browser's address bar has no secret in it, and
// a challenge instead of the verifier.
func TestRealProviderAsksSafely(t *testing.T) {
	p := realProvider(t, grace)
	page, flow, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asked, _ := url.Parse(page)
	for name, want := range map[string]string{
		"response_type": "code", "code_challenge_method": "S256", "redirect_uri": ourCallback, "client_id": t.Name(),
		"scope": "openid profile email", "state": flow.State, "nonce": flow.Nonce,
	} {
		if got := asked.Query().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, secret := range []string{flow.Verifier, providerSecret} {
		if strings.Contains(page, secret) {
			t.Errorf("%s is in the address %s", secret, page)
		}
	}
	if _, second, _ := p.Begin(t.Context()); second.State == flow.State || second.Nonce == flow.Nonce || second.Verifier == flow.Verifier {
		t.Error("two log ins share something")
	}
}

func TestRealProviderRefuses(t *testing.T) {
	for name, one := range map[string]struct {
		change func(p *Provider, f *Flow, answer url.Values)
		code   fault.Code
	}{
		"another state":          {func(_ *Provider, f *Flow, _ url.Values) { f.State = "other" }, fault.Malformed},
		"no flow in the session": {func(_ *Provider, f *Flow, a url.Values) { *f = Flow{}; a.Del("state") }, fault.Malformed},
		"no state":               {func(_ *Provider, _ *Flow, a url.Values) { a.Del("state") }, fault.Malformed},
		"no code":                {func(_ *Provider, _ *Flow, a url.Values) { a.Del("code") }, fault.Malformed},
		"a code of nobody":       {func(_ *Provider, _ *Flow, a url.Values) { a.Set("code", "made up") }, fault.Malformed},
		"another verifier":       {func(_ *Provider, f *Flow, _ url.Values) { f.Verifier = strings.Repeat("v", 43) }, fault.Malformed},
		"another nonce":          {func(_ *Provider, f *Flow, _ url.Values) { f.Nonce = "of another log in" }, fault.Forbidden},
		"another sender":         {func(_ *Provider, _ *Flow, a url.Values) { a.Set("iss", "https://evil.example.com") }, fault.Forbidden},
		"an empty sender":        {func(_ *Provider, _ *Flow, a url.Values) { a.Set("iss", "") }, fault.Forbidden},
		"turned back":            {func(_ *Provider, _ *Flow, a url.Values) { a.Set("error", "access_denied") }, fault.Forbidden},
		"a wrong secret":         {func(p *Provider, _ *Flow, _ url.Values) { p.found.oauth.ClientSecret = "wrong" }, fault.Forbidden},
		"an expired token": {func(p *Provider, _ *Flow, _ url.Values) {
			p.now = func() time.Time { return time.Now().Add(2 * time.Hour) }
		}, fault.Forbidden},
		"another redirect": {func(p *Provider, _ *Flow, _ url.Values) { p.found.oauth.RedirectURL += "/" }, fault.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			p := realProvider(t, grace)
			flow, answer := there(t, p, grace)
			one.change(p, &flow, answer)
			_, err := p.Finish(t.Context(), flow, answer)
			f := refusal(t, err, one.code)
			if code := answer.Get("code"); code != "" && code != "made up" && strings.Contains(f.Error(), code) {
				t.Errorf("the code is in the error: %v", f)
			}
		})
	}
}

// A provider that is down costs a moment, not the server; it is tried again after
// a pause, and not before.
func TestProviderDown(t *testing.T) {
	var asked atomic.Int32
	var up atomic.Bool
	fake := newFake(t)
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if !up.Load() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(gate.Close)
	fake.issuer = gate.URL
	p := fake.provider()
	now := time.Now()
	p.now = func() time.Time { return now }
	for range 3 {
		_, _, err := p.Begin(t.Context())
		if f := refusal(t, err, fault.Unavailable); f.Details["retry_after"] != 5 {
			t.Errorf("retry after %v seconds, want 5", f.Details["retry_after"])
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times, want 1", n)
	}
	up.Store(true)
	now = now.Add(providerPause)
	if _, _, err := p.Begin(t.Context()); err != nil {
		t.Fatalf("up again: %v", err)
	}
	if _, _, err := p.Begin(t.Context()); err != nil || asked.Load() != 2 {
		t.Errorf("asked %d times, %v: want its description kept", asked.Load(), err)
	}
}

func TestProviderDescriptionRefused(t *testing.T) {
	for name, change := range map[string]map[string]any{
		"of another issuer":                {"issuer": "https://evil.example.com"},
		"a page without https":             {"authorization_endpoint": "http://id.example.com/auth"},
		"a page that is a script":          {"authorization_endpoint": "javascript:alert(1)"},
		"longer than a megabyte":           {"padding": strings.Repeat("x", maxProviderAnswer)},
		"a page that is no address at all": {"authorization_endpoint": ""},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newFake(t)
			maps.Copy(fake.says, change)
			_, _, err := fake.provider().Begin(t.Context())
			wantFault(t, err, fault.Unavailable)
		})
	}
}

// The client follows no redirect, and takes no proxy out of the environment.
func TestProviderClientStays(t *testing.T) {
	if outer, ok := providerClient().Transport.(httpsOnly); !ok || outer.next.(*http.Transport).Proxy != nil {
		t.Error("a proxy would read along")
	}
	var followed atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Store(true) }))
	t.Cleanup(elsewhere.Close)
	fake := newFake(t)
	fake.token = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}
	p := fake.provider()
	flow, answer := fake.there(t, p)
	if _, err := p.Finish(t.Context(), flow, answer); err == nil || followed.Load() {
		t.Errorf("%v, followed %v: want a refusal without a second request", err, followed.Load())
	}
}

// askedHosts is a transport that only notes whom it was to ask.
type askedHosts []string

func (a *askedHosts) RoundTrip(r *http.Request) (*http.Response, error) {
	*a = append(*a, r.URL.Host)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func TestProviderClientAsksHTTPSOnly(t *testing.T) {
	var asked askedHosts
	for _, address := range []string{"https://id.example.com/", "http://id.example.com/", "http://localhost.example.com/", "http://127.0.0.1:80/",
		"http://[::1]/", "http://localhost/", "http://10.0.0.1/"} {
		r := httptest.NewRequest(http.MethodGet, address, nil)
		if res, err := (httpsOnly{&asked}).RoundTrip(r); err == nil {
			_ = res.Body.Close()
		}
	}
	if want := []string{"id.example.com", "127.0.0.1:80", "[::1]", "localhost"}; !slices.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
}

func TestProviderSecretStyle(t *testing.T) {
	for methods, header := range map[string]bool{"": true, "client_secret_basic": true, "client_secret_post": false, "client_secret_post client_secret_basic": true} {
		fake := newFake(t)
		if methods != "" {
			fake.says["token_endpoint_auth_methods_supported"] = strings.Fields(methods)
		}
		p := fake.provider()
		flow, answer := fake.there(t, p)
		if _, err := p.Finish(t.Context(), flow, answer); err != nil {
			t.Fatalf("%q: %v", methods, err)
		}
		basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("fleetboard:"+providerSecret))
		if got := fake.asked.Header.Get("Authorization") == basic; got != header {
			t.Errorf("%q: in the header %v, want %v", methods, got, header)
		}
		if got := fake.asked.PostForm.Get("client_secret") == providerSecret; got == header {
			t.Errorf("%q: in the body %v, want %v", methods, got, !header)
		}
	}
}
