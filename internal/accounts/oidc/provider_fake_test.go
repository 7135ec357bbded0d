package oidc

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// fakeProvider answers as a test wants it to, for what a provider that keeps to
// the rules never says.
type fakeProvider struct {
	issuer string
	says   map[string]any
	// claims are those of the ID token; sign makes it.
	claims jwt.MapClaims
	sign   func(jwt.MapClaims) string
	token  http.HandlerFunc
	user   map[string]any
	// asked is the last request for a token.
	asked *http.Request
}

var fakeKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func newFake(t *testing.T) *fakeProvider {
	t.Helper()
	f := &fakeProvider{says: map[string]any{}, claims: jwt.MapClaims{}, user: map[string]any{"sub": "sub-1", "email": "ada@example.org", "name": "Ada"}}
	f.sign = signed(jwt.SigningMethodRS256, fakeKey())
	f.token = f.giveToken
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.issuer = server.URL
	return f
}

func signed(method jwt.SigningMethod, key any) func(jwt.MapClaims) string {
	return func(claims jwt.MapClaims) string {
		token := jwt.NewWithClaims(method, claims)
		token.Header["kid"] = "k1"
		text, err := token.SignedString(key)
		if err != nil {
			panic(err)
		}
		return text
	}
}

func (f *fakeProvider) provider() *Provider {
	return NewProvider(Config{Issuer: f.issuer, ClientID: "fleetboard", ClientSecret: providerSecret, RedirectURL: ourCallback, Name: "Acme"})
}

// there begins a log in and makes the answer that a browser would bring back.
func (f *fakeProvider) there(t *testing.T, p *Provider) (Flow, url.Values) {
	t.Helper()
	_, flow, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fresh := jwt.MapClaims{"iss": f.issuer, "sub": "sub-1", "aud": "fleetboard", "nonce": flow.Nonce,
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	for name, value := range f.claims {
		if fresh[name] = value; value == nil {
			delete(fresh, name)
		}
	}
	f.claims = fresh
	return flow, url.Values{"state": {flow.State}, "code": {"a-code"}}
}

func (f *fakeProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		says := map[string]any{"issuer": f.issuer, "authorization_endpoint": f.issuer + "/auth", "token_endpoint": f.issuer + "/token",
			"jwks_uri": f.issuer + "/keys", "userinfo_endpoint": f.issuer + "/user", "id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"}}
		for name, value := range f.says {
			says[name] = value
		}
		answer(w, says)
	case "/keys":
		b64 := base64.RawURLEncoding.EncodeToString
		public := fakeKey().PublicKey
		answer(w, map[string]any{"keys": []map[string]string{{"kty": "RSA", "use": "sig", "kid": "k1", "alg": "RS256",
			"n": b64(public.N.Bytes()), "e": b64(big.NewInt(int64(public.E)).Bytes())}}})
	case "/token":
		_ = r.ParseForm()
		f.asked = r
		f.token(w, r)
	case "/user":
		answer(w, f.user)
	}
}

func (f *fakeProvider) giveToken(w http.ResponseWriter, _ *http.Request) {
	said := map[string]any{"access_token": "an-access-token", "token_type": "Bearer", "expires_in": 60}
	if text := f.sign(f.claims); text != "" {
		said["id_token"] = text
	}
	answer(w, said)
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// unsigned returns a token of "alg": "none".
func unsigned(claims jwt.MapClaims) string {
	text, err := jwt.NewWithClaims(jwt.SigningMethodNone, claims).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		panic(err)
	}
	return text
}

// Tokens that no provider would make, and one that it would.
func TestProviderToken(t *testing.T) {
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256([]byte("another access token"))
	for name, one := range map[string]struct {
		claims jwt.MapClaims
		sign   func(jwt.MapClaims) string
		code   fault.Code // "" is taken
	}{
		"as it should be":                   {},
		"two audiences, made for us":        {claims: jwt.MapClaims{"aud": []string{"fleetboard", "other"}, "azp": "fleetboard"}},
		"another issuer":                    {claims: jwt.MapClaims{"iss": "https://evil.example.com"}, code: fault.Forbidden},
		"no issuer":                         {claims: jwt.MapClaims{"iss": nil}, code: fault.Forbidden},
		"another audience":                  {claims: jwt.MapClaims{"aud": "other"}, code: fault.Forbidden},
		"no audience":                       {claims: jwt.MapClaims{"aud": nil}, code: fault.Forbidden},
		"two audiences":                     {claims: jwt.MapClaims{"aud": []string{"fleetboard", "other"}}, code: fault.Forbidden},
		"two audiences, made for the other": {claims: jwt.MapClaims{"aud": []string{"fleetboard", "other"}, "azp": "other"}, code: fault.Forbidden},
		"made for another":                  {claims: jwt.MapClaims{"azp": "other"}, code: fault.Forbidden},
		"expired":                           {claims: jwt.MapClaims{"exp": time.Now().Add(-time.Minute).Unix()}, code: fault.Forbidden},
		"without an end":                    {claims: jwt.MapClaims{"exp": nil}, code: fault.Forbidden},
		"not valid yet":                     {claims: jwt.MapClaims{"nbf": time.Now().Add(time.Hour).Unix()}, code: fault.Forbidden},
		"the nonce of another log in":       {claims: jwt.MapClaims{"nonce": "another"}, code: fault.Forbidden},
		"no nonce":                          {claims: jwt.MapClaims{"nonce": nil}, code: fault.Forbidden},
		"about nobody":                      {claims: jwt.MapClaims{"sub": ""}, code: fault.Forbidden},
		"a subject that cannot be stored":   {claims: jwt.MapClaims{"sub": "a\x00b"}, code: fault.Forbidden},
		"a subject that is too long":        {claims: jwt.MapClaims{"sub": strings.Repeat("s", 256)}, code: fault.Forbidden},
		"for another access token":          {claims: jwt.MapClaims{"at_hash": base64.RawURLEncoding.EncodeToString(hash[:16])}, code: fault.Forbidden},
		"no signature":                      {sign: unsigned, code: fault.Forbidden},
		"signed with another key":           {sign: signed(jwt.SigningMethodRS256, other), code: fault.Forbidden},
		"signed with the client's secret":   {sign: signed(jwt.SigningMethodHS256, []byte(providerSecret)), code: fault.Forbidden},
		"signed with the public key":        {sign: signed(jwt.SigningMethodHS256, fakeKey().N.Bytes()), code: fault.Forbidden},
		"an algorithm that was not offered": {sign: signed(jwt.SigningMethodRS512, fakeKey()), code: fault.Forbidden},
		"no token":                          {sign: func(jwt.MapClaims) string { return "" }, code: fault.Forbidden},
		"no token but text":                 {sign: func(jwt.MapClaims) string { return "a.b.c" }, code: fault.Forbidden},
		"other claims than were signed": {sign: func(c jwt.MapClaims) string {
			part := strings.Split(signed(jwt.SigningMethodRS256, fakeKey())(c), ".")
			c["sub"] = "sub-of-the-owner"
			part[1] = strings.Split(unsigned(c), ".")[1]
			return strings.Join(part, ".")
		}, code: fault.Forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newFake(t)
			// With the e-mail in the token nothing else is requested, which would refuse too.
			fake.claims = jwt.MapClaims{"email": "ada@example.org"}
			maps.Copy(fake.claims, one.claims)
			if one.sign != nil {
				fake.sign = one.sign
			}
			p := fake.provider()
			flow, answer := fake.there(t, p)
			who, err := p.Finish(t.Context(), flow, answer)
			if one.code == "" {
				if err != nil || who.Subject != "sub-1" || who.Email != "ada@example.org" {
					t.Errorf("%+v, %v", who, err)
				}
				return
			}
			wantFault(t, err, one.code)
			if who != (Claims{}) {
				t.Errorf("a refusal and %+v", who)
			}
		})
	}
}

// What a provider reports about a person beside the subject.
func TestProviderProfile(t *testing.T) {
	for name, one := range map[string]struct {
		token, user map[string]any
		want        Claims
		code        fault.Code
	}{
		"in the token":            {token: map[string]any{"email": "In@Token.org", "name": " Ada "}, want: Claims{Email: "in@token.org", Name: "Ada"}},
		"beside the token":        {user: map[string]any{"sub": "sub-1", "email": "ada@example.org", "preferred_username": "ada"}, want: Claims{Email: "ada@example.org", Name: "ada"}},
		"somebody else's":         {user: map[string]any{"sub": "sub-2", "email": "eve@example.org"}, code: fault.Forbidden},
		"nothing":                 {user: map[string]any{"sub": "sub-1"}},
		"no name":                 {user: map[string]any{"sub": "sub-1", "email": "ada@example.org"}, want: Claims{Email: "ada@example.org", Name: "ada@example.org"}},
		"verified as text":        {token: map[string]any{"email": "a@b.org", "email_verified": "true"}, want: Claims{Email: "a@b.org", Name: "a@b.org"}},
		"not verified":            {token: map[string]any{"email": "a@b.org", "email_verified": false, "name": "Ada"}, want: Claims{Name: "Ada"}},
		"not verified, as text":   {token: map[string]any{"email": "a@b.org", "email_verified": "false", "name": "Ada"}, want: Claims{Name: "Ada"}},
		"an e-mail that is none":  {token: map[string]any{"email": "ada", "name": "Ada"}, want: Claims{Name: "Ada"}},
		"a name that is too long": {token: map[string]any{"email": "a@b.org", "name": strings.Repeat("é", 101)}, want: Claims{Email: "a@b.org", Name: strings.Repeat("é", 100)}},
		"a name of another kind":  {token: map[string]any{"email": "a@b.org", "name": 7}, code: fault.Forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newFake(t)
			fake.claims, fake.user = one.token, one.user
			p := fake.provider()
			flow, answer := fake.there(t, p)
			who, err := p.Finish(t.Context(), flow, answer)
			if one.code != "" {
				wantFault(t, err, one.code)
				return
			}
			one.want.Issuer, one.want.Subject = fake.issuer, "sub-1"
			if err != nil || who != one.want {
				t.Errorf("%+v, %v, want %+v", who, err, one.want)
			}
		})
	}
}

// Where the provider says that it names itself in each answer, one that does not
// is somebody else's (RFC 9207).
func TestProviderNamesItself(t *testing.T) {
	for iss, code := range map[string]fault.Code{"right": "", "": fault.Forbidden, "https://evil.example.com": fault.Forbidden} {
		fake := newFake(t)
		fake.says["authorization_response_iss_parameter_supported"] = true
		p := fake.provider()
		flow, answer := fake.there(t, p)
		if iss == "right" {
			iss = fake.issuer
		}
		if iss != "" {
			answer.Set("iss", iss)
		}
		if _, err := p.Finish(t.Context(), flow, answer); code == "" && err != nil || code != "" && !fault.Is(err, code) {
			t.Errorf("%q: %v, want %q", iss, err, code)
		}
	}
}

// The token endpoint's own words stay out of what may be shown, and the log gets
// no more than its error code.
func TestProviderTokenRefused(t *testing.T) {
	for name, one := range map[string]struct {
		status int
		says   string
		code   fault.Code
	}{
		"used code":      {400, `{"error":"invalid_grant","error_description":"<script>a-code"}`, fault.Malformed},
		"unknown client": {401, `{"error":"invalid_client","error_description":"<script>a-code"}`, fault.Forbidden},
		"broken":         {500, `<script>a-code`, fault.Unavailable},
		"no JSON":        {200, `<script>a-code`, fault.Unavailable},
		"no access":      {200, `{"id_token":"<script>"}`, fault.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newFake(t)
			fake.token = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(one.status)
				_, _ = w.Write([]byte(one.says))
			}
			p := fake.provider()
			flow, answer := fake.there(t, p)
			_, err := p.Finish(t.Context(), flow, answer)
			f := refusal(t, err, one.code)
			if strings.Contains(f.Message, "<") || strings.Contains(f.Error(), "a-code") {
				t.Errorf("the provider's words came through: %v", f)
			}
		})
	}
}

func wantFault(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Fatalf("error = %v, want %s", err, code)
	}
}

// refusal is wantFault for tests that look into it.
func refusal(t *testing.T, err error, code fault.Code) *fault.Error {
	t.Helper()
	wantFault(t, err, code)
	return fault.From(err)
}
