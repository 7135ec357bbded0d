package handlers

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/accounts"
	"fleetboard/views/links"
)

// longAgo makes the browser's session one whose person proved nothing for a while.
func (s *site) longAgo(t *testing.T) {
	t.Helper()
	ctx, err := s.Sessions.Load(context.Background(), s.cookies["sid"].Value)
	if err != nil {
		t.Fatal(err)
	}
	s.Sessions.Put(ctx, accounts.SessionProven, strconv.FormatInt(time.Now().Add(-accounts.ProofLife).Unix(), 10))
	if _, _, err := s.Sessions.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

func (s *site) tokensMade(t *testing.T) int {
	t.Helper()
	return dbfactory.Int(t, s.db, "SELECT count(*) FROM access_token WHERE kind = 'person' AND revoked_at IS NULL AND form_key <> ''")
}

// A session that was left open mints no token: the password is asked in the form,
// which keeps what was typed.
func TestATokenNeedsAFreshProof(t *testing.T) {
	s := ownedSite(t)
	s.probe()
	s.logIn(t)
	typed := url.Values{"kind": {"person"}, "name": {"nightly report"}, "life": {"30"}, "form_key": {"k1"}}
	if document(t, s.get(links.NewToken("person"))).Find("#proof").Length() != 0 {
		t.Error("somebody who has just logged in is asked again")
	}
	s.longAgo(t)
	if document(t, s.get(links.NewToken("person"))).Find("#proof-field[name=proof]").Length() != 1 {
		t.Error("the form does not ask")
	}
	for _, wrong := range []string{"", "not the password"} {
		typed.Set("proof", wrong)
		res := s.post(links.Tokens, typed)
		wantStatus(t, res, http.StatusUnprocessableEntity)
		doc := document(t, res)
		if doc.Find("#name").AttrOr("value", "") != "nightly report" || doc.Find("#life option[selected]").AttrOr("value", "") != "30" ||
			!strings.Contains(doc.Find("#proof-field-e").Text(), "not your password") {
			t.Errorf("the form became %s", doc.Find("#token-form").Text())
		}
		if html := res.Body.String(); wrong != "" && strings.Contains(html, wrong) {
			t.Error("the password came back")
		}
	}
	if n := s.tokensMade(t); n != 0 {
		t.Fatalf("%d tokens without a proof", n)
	}
	typed.Set("proof", ownerPassword)
	wantStatus(t, s.post(links.Tokens, typed), http.StatusOK)
	typed.Set("form_key", "k2")
	typed.Del("proof")
	wantStatus(t, s.post(links.Tokens, typed), http.StatusOK) // believed for a while
	if n := s.tokensMade(t); n != 2 {
		t.Errorf("%d tokens, want 2", n)
	}

	// A code of the second factor is as good.
	secret, _ := s.secondFactor(t)
	s.longAgo(t)
	typed.Set("form_key", "k3")
	typed.Set("proof", "000000")
	wantStatus(t, s.post(links.Tokens, typed), http.StatusUnprocessableEntity)
	code, err := totp.GenerateCode(secret, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dbfactory.Exec(t, s.db, "UPDATE account_totp SET last_step = 0") // the first code confirmed it
	typed.Set("proof", code)
	wantStatus(t, s.post(links.Tokens, typed), http.StatusOK)
}

// Who came by the provider and has no password logs in there anew. The form waits
// for that, and somebody else's log in there proves nothing.
func TestTheProviderProvesAgain(t *testing.T) {
	s := ownedSite(t, withProvider(t))
	s.joinVia(t, s.invite(t, graceThere.Email), graceThere)
	s.longAgo(t)
	typed := url.Values{"kind": {"person"}, "name": {"nightly report"}, "life": {"30"}, "form_key": {"k1"}}
	res := s.post(links.Tokens, typed)
	wantStatus(t, res, http.StatusUnprocessableEntity)
	way := document(t, res).Find("#proof a").AttrOr("href", "")
	there := s.toAcme(t, way)
	if !strings.Contains(there, "prompt=login") || !strings.Contains(there, "max_age=600") {
		t.Errorf("the provider is not asked for a new log in: %s", there)
	}
	if res := s.arrive(back(t, there, adaThere)); res.StatusCode != http.StatusBadRequest {
		t.Errorf("another person proves it: %d", res.StatusCode)
	}
	wantStatus(t, s.post(links.Tokens, typed), http.StatusUnprocessableEntity)
	if n := s.tokensMade(t); n != 0 {
		t.Fatalf("%d tokens without a proof", n)
	}
	wantRedirect(t, s.via(t, way, graceThere), links.NewToken("person"))
	doc := document(t, s.get(links.NewToken("person")))
	if doc.Find("#name").AttrOr("value", "") != "nightly report" || doc.Find("#proof").Length() != 0 {
		t.Errorf("the form did not wait: %s", doc.Find("#token-form").Text())
	}
	wantStatus(t, s.post(links.Tokens, typed), http.StatusOK)

	// The first password likewise.
	s.longAgo(t)
	res = s.post(links.Password, url.Values{"password": {otherPassword}})
	wantStatus(t, res, http.StatusConflict)
	if doc := document(t, res); doc.Find("#password-part #proof a").Length() != 1 || doc.Find("#password").Length() != 0 {
		t.Error("the page does not lead to the provider")
	}
	wantRedirect(t, s.via(t, links.Prove(links.Account), graceThere), links.Account)
	wantRedirect(t, s.post(links.Password, url.Values{"password": {otherPassword}}), links.Account)
}

// With a new password the personal tokens end, where that is wished, in every
// workspace.
func TestAPasswordChangeRevokesTokens(t *testing.T) {
	d := newDesk(t)
	other := d.alsoIn("Other Labs", "member")
	wantRedirect(t, d.post(links.Password, url.Values{"password": {ownerPassword}}), links.Account)
	make := func(key string) {
		t.Helper()
		wantStatus(t, d.post(links.Tokens, url.Values{"kind": {"person"}, "name": {"a"}, "life": {"30"}, "form_key": {key}}), http.StatusOK)
	}
	make("k1")
	wantRedirect(t, d.switchTo(other, links.Board), links.Board)
	make("k2")
	change := url.Values{"current": {"wrong password!"}, "password": {otherPassword}, "revoke_tokens": {"1"}}
	doc := document(t, d.post(links.Password, change))
	if doc.Find("input[name=revoke_tokens][checked]").Length() != 1 || d.tokensMade(t) != 2 {
		t.Errorf("the wish was forgotten, or fulfilled with a wrong password: %d tokens", d.tokensMade(t))
	}
	change.Set("current", ownerPassword)
	wantRedirect(t, d.post(links.Password, change), links.Account)
	if n := d.tokensMade(t); n != 0 {
		t.Errorf("%d tokens are alive", n)
	}
	if n := dbfactory.Int(t, d.db, "SELECT count(DISTINCT workspace_id) FROM event WHERE type = 'token.revoked'"); n != 2 {
		t.Errorf("%d workspaces tell of it", n)
	}
}
