package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/accounts/idptest"
	"fleetboard/views/links"
)

// joinVia accepts an invitation with the provider's word, as a person does.
func (s *site) joinVia(t *testing.T, token string, who idptest.Person) {
	t.Helper()
	wantRedirect(t, s.via(t, links.IdentityJoin(token), who), links.IdentityAccept)
	wantRedirect(t, s.post(links.IdentityAccept, url.Values{"join": {s.joinKey(t)}}), links.Board)
}

// joinKey is that of the question that waits in this browser.
func (s *site) joinKey(t *testing.T) string {
	t.Helper()
	res := s.get(links.IdentityAccept)
	wantStatus(t, res, http.StatusOK)
	return document(t, res).Find("#join input[name=join]").AttrOr("value", "")
}

// people counts what joining makes: accounts, identities, members, used links, events.
func (s *site) people(t *testing.T) (counts [5]int) {
	t.Helper()
	for i, sql := range []string{"SELECT count(*) FROM account", "SELECT count(*) FROM account_identity", "SELECT count(*) FROM membership",
		"SELECT count(*) FROM invitation WHERE used_at IS NOT NULL", "SELECT count(*) FROM event"} {
		counts[i] = dbfactory.Int(t, s.db, sql)
	}
	return counts
}

// Another site sends a browser to the way of an invitation, and the provider, who
// knows the person, sends it back: nobody has joined by that.
func TestAnotherSiteJoinsNobody(t *testing.T) {
	s := ownedSite(t, withProvider(t))
	s.linkAda(t)
	token := s.invite(t, "grace@example.org")
	for name, who := range map[string]idptest.Person{"an account": adaThere, "a new person": graceThere} {
		t.Run(name, func(t *testing.T) {
			clear(s.cookies)
			before := s.people(t)
			wantRedirect(t, s.via(t, links.IdentityJoin(token), who), links.IdentityAccept)
			for range 2 { // looking answers nothing
				wantStatus(t, s.get(links.IdentityAccept), http.StatusOK)
			}
			if after := s.people(t); after != before {
				t.Errorf("by reading alone there are %v, before %v", after, before)
			}
			wantRedirect(t, s.get(links.Board), "/login")
			key := s.joinKey(t)
			r := request(http.MethodPost, links.IdentityAccept, url.Values{"join": {key}})
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			wantStatus(t, s.do(r), http.StatusForbidden)
			wantStatus(t, s.post(links.IdentityAccept, url.Values{"join": {"other"}}), http.StatusConflict)
			wantStatus(t, s.browser().post(links.IdentityAccept, url.Values{"join": {key}}), http.StatusBadRequest)
			if after := s.people(t); after != before {
				t.Errorf("by a form of another site or page there are %v, before %v", after, before)
			}
		})
	}
}

// The question says who joins what. One that another tab has put in its place
// meanwhile is not answered with it.
func TestIdentityJoinAsks(t *testing.T) {
	s := ownedSite(t, withProvider(t))
	s.logIn(t)
	token, other := s.invite(t, "grace@example.org"), s.invite(t, "trap@example.org")
	wantRedirect(t, s.via(t, links.IdentityJoin(token), graceThere), links.IdentityAccept)
	page := document(t, s.get(links.IdentityAccept))
	text := page.Find("main").Text()
	for _, want := range []string{"Join Default?", "At Acme" + graceThere.Email, "A new one, without a password", "WorkspaceDefault", "RoleMember", "Invited byOwner",
		"logged in here as " + ownerEmail} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) && !strings.Contains(text, want) {
			t.Errorf("the page does not say %q: %s", want, text)
		}
	}
	seen := s.joinKey(t)
	wantRedirect(t, s.via(t, links.IdentityJoin(other), graceThere), links.IdentityAccept)
	wantStatus(t, s.post(links.IdentityAccept, url.Values{"join": {seen}}), http.StatusConflict)
	s.age(t, keptJoin, 11*time.Minute)
	wantStatus(t, s.get(links.IdentityAccept), http.StatusBadRequest)
}

func TestIdentityJoin(t *testing.T) {
	s := ownedSite(t, withProvider(t))
	token := s.invite(t, "grace@example.org")
	s.joinVia(t, token, graceThere)
	page := document(t, s.get(links.Board))
	if text := page.Find("#toasts").Text(); !strings.Contains(text, "You are in Default") {
		t.Errorf("toasts %q", text)
	}
	// It is the only way in, and stays.
	wantRedirect(t, s.post(links.IdentityUnlink, url.Values{}), links.Account)
	// The question is over with its answer.
	wantStatus(t, s.get(links.IdentityAccept), http.StatusBadRequest)
	clear(s.cookies)
	wantRedirect(t, s.via(t, "/login/oidc", graceThere), links.Board)
	// The link worked once.
	clear(s.cookies)
	wantRedirect(t, s.via(t, links.IdentityJoin(token), adaThere), links.IdentityAccept)
	wantStatus(t, s.get(links.IdentityAccept), http.StatusNotFound)
	wantRedirect(t, s.get("/board"), "/login")
}

// The provider's e-mail is that of the owner here: whoever it is gets told what to
// do, and nothing is made.
func TestIdentityJoinEmailTaken(t *testing.T) {
	s := ownedSite(t, withProvider(t))
	token := s.invite(t, "ada2@example.org")
	before := s.people(t)
	wantRedirect(t, s.via(t, links.IdentityJoin(token), adaThere), links.IdentityAccept)
	res := s.post(links.IdentityAccept, url.Values{"join": {s.joinKey(t)}})
	if text := document(t, res).Find("main").Text(); res.StatusCode < 400 || !strings.Contains(text, "No account could be made") {
		t.Errorf("%d, the page says %q", res.StatusCode, text)
	}
	if after := s.people(t); after != before {
		t.Errorf("there are %v, before %v", after, before)
	}
	wantRedirect(t, s.get("/board"), "/login")
	clear(s.cookies)
	s.joinVia(t, token, graceThere)
}
