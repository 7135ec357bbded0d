package tokens_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/internal/accounts"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func agent() tenancy.Principal {
	return tenancy.Principal{
		Kind: tenancy.KindAgent, Workspace: ids.New(), Agent: ids.New(), Name: "mac-1-a", Factory: "mac-1", Boot: "boot-7",
		Token: ids.New(), Generation: 4,
		Scope: tenancy.Scope{Products: []string{"ios"}, Capabilities: []string{"os:mac"}, Factory: "mac-1"},
	}
}

// Without a database: an agent's call costs no SQL to know who calls, where what
// was revoked is known.
func TestAgentToken(t *testing.T) {
	s, want := trusting(), agent()
	token, expires, err := s.Tokens.IssueAgentToken(want)
	if err != nil {
		t.Fatal(err)
	}
	if life := time.Until(expires); life < 59*time.Minute || life > time.Hour {
		t.Errorf("the token lives %s", life)
	}
	got, err := s.Tokens.Bearer(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	want.Expires = expires
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAgentTokenNeedsAnAgent(t *testing.T) {
	s := trusting()
	person, nameless, homeless := agent(), agent(), agent()
	person.Kind, nameless.Name, homeless.Workspace = tenancy.KindPerson, "", ids.Nil
	for _, p := range []tenancy.Principal{person, nameless, homeless, {}} {
		if token, _, err := s.Tokens.IssueAgentToken(p); err == nil || token != "" {
			t.Errorf("a token for %+v", p)
		}
	}
}

func TestAgentTokenExpires(t *testing.T) {
	c := &accountstest.Clock{At: time.Now}
	s := accountstest.NewServiceWith(nil, c, accountstest.Key(7))
	s.Tokens.ReadRevocationsAt(time.Now().Add(time.Hour))
	token, expires, err := s.Tokens.IssueAgentToken(agent())
	if err != nil {
		t.Fatal(err)
	}
	c.At = func() time.Time { return expires.Add(tokens.AgentTokenSkew - time.Second) }
	if _, err := s.Tokens.Bearer(t.Context(), token); err != nil {
		t.Errorf("within the skew of clocks: %v", err)
	}
	c.At = func() time.Time { return expires.Add(tokens.AgentTokenSkew + time.Second) }
	_, err = s.Tokens.Bearer(t.Context(), token)
	accountstest.WantFault(t, err, fault.TokenExpired)
}

func TestAgentTokenOfAnotherServer(t *testing.T) {
	token, _, err := accounts.New(accounts.Config{Key: accountstest.Key(8), Now: time.Now}).Tokens.IssueAgentToken(agent())
	if err != nil {
		t.Fatal(err)
	}
	_, err = trusting().Tokens.Bearer(t.Context(), token)
	accountstest.WantFault(t, err, fault.TokenInvalid)
}

func TestAgentTokenForgeries(t *testing.T) {
	s := trusting()
	claims := func(change func(*tokens.AgentClaims)) tokens.AgentClaims {
		p := agent()
		c := tokens.AgentClaims{
			RegisteredClaims: jwt.RegisteredClaims{
				Issuer: tokens.AgentTokenIssuer, Audience: jwt.ClaimStrings{tokens.AgentTokenAudience}, Subject: p.Agent.String(),
				IssuedAt: jwt.NewNumericDate(time.Now()), ExpiresAt: jwt.NewNumericDate(time.Now().Add(time.Minute)),
			},
			Workspace: p.Workspace.String(), Name: p.Name,
		}
		change(&c)
		return c
	}
	sign := func(method jwt.SigningMethod, key any, change func(*tokens.AgentClaims)) string {
		t.Helper()
		token, err := jwt.NewWithClaims(method, claims(change)).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	eddsa := func(change func(*tokens.AgentClaims)) string {
		return sign(jwt.SigningMethodEdDSA, s.Tokens.Signing(), change)
	}
	same := func(*tokens.AgentClaims) {}
	if _, err := s.Tokens.Bearer(t.Context(), eddsa(same)); err != nil {
		t.Fatalf("the model of the forgeries is refused itself: %v", err)
	}

	part := strings.Split(eddsa(same), ".")
	body, err := base64.RawURLEncoding.DecodeString(part[1])
	if err != nil {
		t.Fatal(err)
	}
	other := base64.RawURLEncoding.EncodeToString(bytes.Replace(body, []byte("mac-1-a"), []byte("mac-1-b"), 1))
	public := []byte(s.Tokens.Signing().Public().(ed25519.PublicKey))

	for name, token := range map[string]string{
		"no algorithm":         sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, same),
		"public key as secret": sign(jwt.SigningMethodHS256, public, same),
		"tampered claims":      part[0] + "." + other + "." + part[2],
		"no signature":         part[0] + "." + part[1] + ".",
		"wrong audience":       eddsa(func(c *tokens.AgentClaims) { c.Audience = jwt.ClaimStrings{"another"} }),
		"no audience":          eddsa(func(c *tokens.AgentClaims) { c.Audience = nil }),
		"wrong issuer":         eddsa(func(c *tokens.AgentClaims) { c.Issuer = "another" }),
		"no expiry":            eddsa(func(c *tokens.AgentClaims) { c.ExpiresAt = nil }),
		"from the future":      eddsa(func(c *tokens.AgentClaims) { c.IssuedAt = jwt.NewNumericDate(time.Now().Add(time.Hour)) }),
		"no agent":             eddsa(func(c *tokens.AgentClaims) { c.Subject = "" }),
		"no workspace":         eddsa(func(c *tokens.AgentClaims) { c.Workspace = "default" }),
		"no enrolment":         eddsa(func(c *tokens.AgentClaims) { c.Enrolment = "none" }),
		"no name":              eddsa(func(c *tokens.AgentClaims) { c.Name = "" }),
		"not a token":          "abc",
		"dots":                 "..",
	} {
		t.Run(name, func(t *testing.T) {
			who, err := s.Tokens.Bearer(t.Context(), token)
			accountstest.WantFault(t, err, fault.TokenInvalid)
			if who.Kind != "" {
				t.Errorf("principal = %+v", who)
			}
		})
	}
}
