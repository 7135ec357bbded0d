package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// platform is an issuer of tokens as Kubernetes, GitHub and GitLab are.
type platform struct {
	url   string
	key   *rsa.PrivateKey
	asked atomic.Int32 // for its keys
}

func newPlatform(t *testing.T) *platform {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &platform{key: key}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p.url = server.URL
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(object{"issuer": p.url, "jwks_uri": p.url + "/keys", "id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		p.asked.Add(1)
		_ = json.NewEncoder(w).Encode(object{"keys": []object{{"kty": "RSA", "kid": "one", "alg": "RS256", "use": "sig",
			"n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()), "e": "AQAB"}}})
	})
	return p
}

// good returns the claims of a runner that is meant, with those in over instead; nil leaves one out.
func (p *platform) good(over ...object) object {
	now := time.Now()
	claims := object{"iss": p.url, "aud": "fleetboard", "sub": "repo:kestrel/ledger:environment:agents", "repository": "kestrel/ledger",
		"repository_id": "1296269", "repository_owner": "kestrel", "repository_owner_id": "77", "environment": "agents",
		"ref": "refs/heads/main", "jti": rand.Text(), "iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(),
		"kubernetes.io": object{"serviceaccount": object{"uid": "u-1"}}}
	for _, o := range over {
		maps.Copy(claims, o)
	}
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return claims
}

// sign returns a token with claims, signed in some way.
func sign(t *testing.T, how jwt.SigningMethod, key any, kid string, claims object) string {
	t.Helper()
	token := jwt.NewWithClaims(how, jwt.MapClaims(claims))
	token.Header["kid"] = kid
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A runner registers by the token of its platform; a token that differs in anything that matters
// registers nobody.
func TestOnlyTheRightTokenRegistersAWorkload(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t, func(o *app.Options) { o.IssuerNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	p, stranger := newPlatform(t), newPlatform(t)
	rule := object{"url": p.url, "audience": "fleetboard", "claims": []object{{"claim": "repository", "value": "kestrel/ledger"},
		{"claim": "repository_id", "value": "1296269"}, {"claim": "environment", "value": "agents"},
		{"claim": "sub", "value": "repo:kestrel/ledger:environment:agents"}, {"claim": "/kubernetes.io/serviceaccount/uid", "value": "u-1"}},
		"capabilities": []string{"os:linux"}, "may_submit": true}
	made := w.as(w.owner, "PUT", "/issuers/github", rule).want(201)
	id := made.text("id")
	enrol := func(token, agent string) answer {
		return w.as("", "POST", "/enrolments", object{"issuer": id, "token": token, "agent": agent,
			"registration": object{"boot_id": agent + "-boot", "factory": object{"name": "runners", "os": "linux"}}})
	}
	rs := jwt.SigningMethodRS256
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(p.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	plain := func(over ...object) string { return sign(t, rs, p.key, "one", p.good(over...)) }
	parts := strings.Split(plain(), ".")
	now := time.Now()
	wrong := map[string]string{
		"of another issuer":                      sign(t, rs, stranger.key, "one", stranger.good()),
		"of another issuer in this one's name":   sign(t, rs, stranger.key, "one", p.good()),
		"with an issuer that begins so":          plain(object{"iss": p.url + "/x"}),
		"without an issuer":                      plain(object{"iss": nil}),
		"for another audience":                   plain(object{"aud": "sts.amazonaws.com"}),
		"for an audience that begins so":         plain(object{"aud": "fleetboard-x"}),
		"for an audience of another case":        plain(object{"aud": "Fleetboard"}),
		"for two audiences":                      plain(object{"aud": []string{"fleetboard", "vault"}}),
		"for no audience":                        plain(object{"aud": nil}),
		"signed by another key":                  sign(t, rs, other, "one", p.good()),
		"signed by a key that nobody knows":      sign(t, rs, other, "two", p.good()),
		"signed on a curve":                      sign(t, jwt.SigningMethodES256, curve, "one", p.good()),
		"signed by nobody":                       sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "one", p.good()),
		"with HS256 and the public key":          sign(t, jwt.SigningMethodHS256, public, "one", p.good()),
		"with HS256 and the public key's number": sign(t, jwt.SigningMethodHS256, p.key.N.Bytes(), "one", p.good()),
		"without its signature":                  parts[0] + "." + parts[1] + ".",
		"with another's claims":                  parts[0] + "." + strings.Split(plain(object{"environment": "agents"}), ".")[1] + "." + parts[2],
		"that has ended":                         plain(object{"exp": now.Add(-2 * time.Minute).Unix()}),
		"that begins later":                      plain(object{"nbf": now.Add(5 * time.Minute).Unix()}),
		"that was made later":                    plain(object{"iat": now.Add(5 * time.Minute).Unix()}),
		"that never ends":                        plain(object{"exp": nil}),
		"that was never made":                    plain(object{"iat": nil}),
		"that is good for a year":                plain(object{"exp": now.AddDate(1, 0, 0).Unix()}),
		"of another repository of the owner":     plain(object{"repository": "kestrel/website", "repository_id": "42", "sub": "repo:kestrel/website:environment:agents"}),
		"of a repository that begins so":         plain(object{"repository": "kestrel/ledger-fork"}),
		"of a renamed owner's successor":         plain(object{"repository_id": "999", "repository_owner_id": "78"}),
		"of another environment":                 plain(object{"environment": "production"}),
		"of an environment in another case":      plain(object{"environment": "Agents"}),
		"of an environment with a space":         plain(object{"environment": "agents "}),
		"of no environment":                      plain(object{"environment": nil}),
		"of a list of environments":              plain(object{"environment": []string{"agents"}}),
		"of an environment inside another":       plain(object{"environment": object{"environment": "agents"}}),
		"of another subject":                     plain(object{"sub": "repo:kestrel/ledger:pull_request"}),
		"of no subject":                          plain(object{"sub": ""}),
		"of another service account":             plain(object{"kubernetes.io": object{"serviceaccount": object{"uid": "u-2"}}}),
		"of a service account by its way's name": plain(object{"kubernetes.io": nil, "/kubernetes.io/serviceaccount/uid": "u-1"}),
		"that is none":                           "not.a.token",
		"of this server":                         w.agent("eve"),
	}
	for name, token := range wrong {
		if a := enrol(token, "mallory"); a.status != http.StatusUnauthorized || a.text("code") != string(fault.TokenInvalid) {
			t.Errorf("a token %s: %d %s", name, a.status, a.raw)
		}
	}
	t.Logf("%d wrong tokens were refused", len(wrong))
	w.as(w.owner, "GET", "/agents/mallory", nil).want(404)
	if n := p.asked.Load(); n > 3 {
		t.Errorf("wrong tokens made the server ask for the keys %d times", n)
	}

	right := plain()
	token := enrol(right, "runner-1").want(200).text("token")
	enrol(right, "runner-1").want(200) // an answer may be lost
	enrol(right, "runner-2").want(401).refused(fault.TokenInvalid)
	w.job("Build")
	w.as(token, "POST", "/fleet/claim", object{}).want(200)
	if a := w.as("", "POST", "/enrolments", object{"issuer": id, "token": plain(), "agent": "mac",
		"registration": object{"boot_id": "b", "factory": object{"name": "macs", "os": "macos"}}}); a.status != 403 {
		t.Errorf("beyond what its agents may offer: %d %s", a.status, a.raw)
	}

	// Another rule cuts off the agents of the one before, and so does distrust.
	rule["audience"] = "fleetboard-2"
	again := w.as(w.owner, "PUT", "/issuers/github", rule).want(200)
	if again.text("id") == id {
		t.Error("another rule has the same id")
	}
	enrol(plain(), "runner-3").want(401).refused(fault.TokenRevoked)
	w.as(token, "POST", "/fleet/claim", object{}).want(401).refused(fault.TokenRevoked)
	if l := w.as(w.owner, "GET", "/issuers", nil).want(200); l.count("items") != 1 {
		t.Errorf("the issuers are %s", l.raw)
	}
	w.as(w.owner, "GET", "/issuers/github", nil).want(200)
	w.as(w.owner, "DELETE", "/issuers/github", nil).want(204)
	w.as(w.owner, "DELETE", "/issuers/github", nil).want(404)
}

// What would let in whom nobody means is not trusted, and no issuer leads the server into its own
// network.
func TestRulesOfIssuers(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	p := newPlatform(t)
	put := func(url string, claims ...object) answer {
		return w.as(w.owner, "PUT", "/issuers/one", object{"url": url, "audience": "fleetboard", "claims": claims})
	}
	sub := object{"claim": "sub", "value": "x"}
	put("http://id.example.com", sub).want(422).refused(fault.Validation, "url")
	put("https://id.example.com?x=1", sub).want(422).refused(fault.Validation, "url")
	put("https://id.example.com", object{"claim": "sub", "value": "repo:kestrel/*"}).want(422).refused(fault.Validation, "claims")
	put("https://id.example.com", sub, sub).want(422).refused(fault.Validation, "claims")
	put("https://id.example.com", object{"claim": "aud", "value": "x"}).want(422).refused(fault.Validation, "claims")
	put("https://token.actions.githubusercontent.com", sub).want(422).refused(fault.Validation, "claims")
	put("https://token.actions.githubusercontent.com", sub, object{"claim": "repository_id", "value": "1"}).want(201)
	w.as(w.agent("ada"), "GET", "/issuers", nil).want(403)
	w.as(w.otherWorkspace(), "GET", "/issuers/one", nil).want(404)

	id := put(p.url, sub).want(200).text("id")
	a := w.as("", "POST", "/enrolments", object{"issuer": id, "token": sign(t, jwt.SigningMethodRS256, p.key, "one", p.good()), "agent": "ada",
		"registration": object{"boot_id": "b", "factory": object{"name": "f"}}})
	a.want(503).refused(fault.Unavailable)
	if p.asked.Load() != 0 {
		t.Error("the server asked an issuer in its own network")
	}
}
