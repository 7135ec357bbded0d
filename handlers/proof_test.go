package handlers_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/views/links"
)

// A session that was left open mints no token: the form requires the password and
// keeps what was typed.
func TestATokenNeedsAFreshProof(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.Probe()
	s.LogIn(t)
	typed := url.Values{"kind": {"person"}, "name": {"nightly report"}, "life": {"30"}, "form_key": {"k1"}}
	if handlertest.Document(t, s.Get(links.NewToken("person"))).Find("#proof").Length() != 0 {
		t.Error("somebody who has just logged in is asked again")
	}
	s.LongAgo(t)
	if handlertest.Document(t, s.Get(links.NewToken("person"))).Find("#proof-field[name=proof]").Length() != 1 {
		t.Error("the form does not ask")
	}
	for _, wrong := range []string{"", "not the password"} {
		typed.Set("proof", wrong)
		res := s.Post(links.Tokens, typed)
		handlertest.WantStatus(t, res, http.StatusUnprocessableEntity)
		doc := handlertest.Document(t, res)
		if doc.Find("#name").AttrOr("value", "") != "nightly report" || doc.Find("#life option[selected]").AttrOr("value", "") != "30" ||
			!strings.Contains(doc.Find("#proof-field-e").Text(), "not your password") {
			t.Errorf("the form became %s", doc.Find("#token-form").Text())
		}
		if html := res.Body.String(); wrong != "" && strings.Contains(html, wrong) {
			t.Error("the password came back")
		}
	}
	if n := s.TokensMade(t); n != 0 {
		t.Fatalf("%d tokens without a proof", n)
	}
	typed.Set("proof", handlertest.OwnerPassword)
	handlertest.WantStatus(t, s.Post(links.Tokens, typed), http.StatusOK)
	typed.Set("form_key", "k2")
	typed.Del("proof")
	handlertest.WantStatus(t, s.Post(links.Tokens, typed), http.StatusOK) // believed for a while
	if n := s.TokensMade(t); n != 2 {
		t.Errorf("%d tokens, want 2", n)
	}

	// A code of the second factor is as good.
	secret, _ := s.SecondFactor(t)
	s.LongAgo(t)
	typed.Set("form_key", "k3")
	typed.Set("proof", "000000")
	handlertest.WantStatus(t, s.Post(links.Tokens, typed), http.StatusUnprocessableEntity)
	code, err := totp.GenerateCode(secret, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dbfactory.Exec(t, s.DB, "UPDATE account_totp SET last_step = 0") // the first code confirmed it
	typed.Set("proof", code)
	handlertest.WantStatus(t, s.Post(links.Tokens, typed), http.StatusOK)
}

// Who came by the provider and has no password logs in there anew. The form waits
// for that, and somebody else's log in there proves nothing.
func TestTheProviderProvesAgain(t *testing.T) {
	s := handlertest.OwnedSite(t, handlertest.WithProvider(t))
	s.JoinVia(t, s.Invite(t, handlertest.GraceThere.Email), handlertest.GraceThere)
	s.LongAgo(t)
	typed := url.Values{"kind": {"person"}, "name": {"nightly report"}, "life": {"30"}, "form_key": {"k1"}}
	res := s.Post(links.Tokens, typed)
	handlertest.WantStatus(t, res, http.StatusUnprocessableEntity)
	way := handlertest.Document(t, res).Find("#proof a").AttrOr("href", "")
	there := s.ToAcme(t, way)
	if !strings.Contains(there, "prompt=login") || !strings.Contains(there, "max_age=600") {
		t.Errorf("the provider is not asked for a new log in: %s", there)
	}
	if res := s.Arrive(handlertest.Back(t, there, handlertest.AdaThere)); res.StatusCode != http.StatusBadRequest {
		t.Errorf("another person proves it: %d", res.StatusCode)
	}
	handlertest.WantStatus(t, s.Post(links.Tokens, typed), http.StatusUnprocessableEntity)
	if n := s.TokensMade(t); n != 0 {
		t.Fatalf("%d tokens without a proof", n)
	}
	handlertest.WantRedirect(t, s.Via(t, way, handlertest.GraceThere), links.NewToken("person"))
	doc := handlertest.Document(t, s.Get(links.NewToken("person")))
	if doc.Find("#name").AttrOr("value", "") != "nightly report" || doc.Find("#proof").Length() != 0 {
		t.Errorf("the form did not wait: %s", doc.Find("#token-form").Text())
	}
	handlertest.WantStatus(t, s.Post(links.Tokens, typed), http.StatusOK)

	// The first password likewise.
	s.LongAgo(t)
	res = s.Post(links.Password, url.Values{"password": {handlertest.OtherPassword}})
	handlertest.WantStatus(t, res, http.StatusConflict)
	if doc := handlertest.Document(t, res); doc.Find("#password-part #proof a").Length() != 1 || doc.Find("#password").Length() != 0 {
		t.Error("the page does not lead to the provider")
	}
	handlertest.WantRedirect(t, s.Via(t, links.Prove(links.Account), handlertest.GraceThere), links.Account)
	handlertest.WantRedirect(t, s.Post(links.Password, url.Values{"password": {handlertest.OtherPassword}}), links.Account)
}

// With a new password the personal tokens end, where that is wished, in every
// workspace.
func TestAPasswordChangeRevokesTokens(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	other := d.AlsoIn("Other Labs", "member")
	handlertest.WantRedirect(t, d.Post(links.Password, url.Values{"password": {handlertest.OwnerPassword}}), links.Account)
	make := func(key string) {
		t.Helper()
		handlertest.WantStatus(t, d.Post(links.Tokens, url.Values{"kind": {"person"}, "name": {"a"}, "life": {"30"}, "form_key": {key}}), http.StatusOK)
	}
	make("k1")
	handlertest.WantRedirect(t, d.SwitchTo(other, links.Board), links.Board)
	make("k2")
	change := url.Values{"current": {"wrong password!"}, "password": {handlertest.OtherPassword}, "revoke_tokens": {"1"}}
	doc := handlertest.Document(t, d.Post(links.Password, change))
	if doc.Find("input[name=revoke_tokens][checked]").Length() != 1 || d.TokensMade(t) != 2 {
		t.Errorf("the wish was forgotten, or fulfilled with a wrong password: %d tokens", d.TokensMade(t))
	}
	change.Set("current", handlertest.OwnerPassword)
	handlertest.WantRedirect(t, d.Post(links.Password, change), links.Account)
	if n := d.TokensMade(t); n != 0 {
		t.Errorf("%d tokens are alive", n)
	}
	if n := dbfactory.Int(t, d.DB, "SELECT count(DISTINCT workspace_id) FROM event WHERE type = 'token.revoked'"); n != 2 {
		t.Errorf("%d workspaces tell of it", n)
	}
}
