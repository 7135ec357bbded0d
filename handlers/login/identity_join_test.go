package login_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers/login"
	"github.com/fleetboard/fleetboard/internal/accounts/idptest"
	"github.com/fleetboard/fleetboard/views/links"
)

// Another site sends a browser to the way of an invitation, and the provider, who
// knows the person, sends it back: nobody has joined by that.
func TestAnotherSiteJoinsNobody(t *testing.T) {
	s := handlertest.OwnedSite(t, handlertest.WithProvider(t))
	s.LinkAda(t)
	token := s.Invite(t, "grace@example.org")
	for name, who := range map[string]idptest.Person{"an account": handlertest.AdaThere, "a new person": handlertest.GraceThere} {
		t.Run(name, func(t *testing.T) {
			clear(s.Cookies)
			before := s.People(t)
			handlertest.WantRedirect(t, s.Via(t, links.IdentityJoin(token), who), links.IdentityAccept)
			for range 2 { // looking answers nothing
				handlertest.WantStatus(t, s.Get(links.IdentityAccept), http.StatusOK)
			}
			if after := s.People(t); after != before {
				t.Errorf("by reading alone there are %v, before %v", after, before)
			}
			handlertest.WantRedirect(t, s.Get(links.Board), "/login")
			key := s.JoinKey(t)
			r := handlertest.Request(http.MethodPost, links.IdentityAccept, url.Values{"join": {key}})
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			handlertest.WantStatus(t, s.Do(r), http.StatusForbidden)
			handlertest.WantStatus(t, s.Post(links.IdentityAccept, url.Values{"join": {"other"}}), http.StatusConflict)
			handlertest.WantStatus(t, s.Browser().Post(links.IdentityAccept, url.Values{"join": {key}}), http.StatusBadRequest)
			if after := s.People(t); after != before {
				t.Errorf("by a form of another site or page there are %v, before %v", after, before)
			}
		})
	}
}

// The question says who joins what. One that another tab has put in its place
// meanwhile is not answered with it.
func TestIdentityJoinAsks(t *testing.T) {
	s := handlertest.OwnedSite(t, handlertest.WithProvider(t))
	s.LogIn(t)
	token, other := s.Invite(t, "grace@example.org"), s.Invite(t, "trap@example.org")
	handlertest.WantRedirect(t, s.Via(t, links.IdentityJoin(token), handlertest.GraceThere), links.IdentityAccept)
	page := handlertest.Document(t, s.Get(links.IdentityAccept))
	packs := handlertest.Request(http.MethodGet, links.IdentityAccept, nil)
	packs.Header.Set("Accept-Encoding", "gzip")
	if got := s.Do(packs).Header.Get("Content-Encoding"); got != "" {
		t.Errorf("a page with the link of an invitation is compressed: %s", got)
	}
	text := page.Find("main").Text()
	for _, want := range []string{"Join Default?", "At Acme" + handlertest.GraceThere.Email, "A new one, without a password", "WorkspaceDefault", "RoleMember", "Invited byOwner",
		"logged in here as " + handlertest.OwnerEmail} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) && !strings.Contains(text, want) {
			t.Errorf("the page does not say %q: %s", want, text)
		}
	}
	seen := s.JoinKey(t)
	handlertest.WantRedirect(t, s.Via(t, links.IdentityJoin(other), handlertest.GraceThere), links.IdentityAccept)
	handlertest.WantStatus(t, s.Post(links.IdentityAccept, url.Values{"join": {seen}}), http.StatusConflict)
	s.Age(t, login.KeptJoin, 11*time.Minute)
	handlertest.WantStatus(t, s.Get(links.IdentityAccept), http.StatusBadRequest)
}

func TestIdentityJoin(t *testing.T) {
	s := handlertest.OwnedSite(t, handlertest.WithProvider(t))
	token := s.Invite(t, "grace@example.org")
	s.JoinVia(t, token, handlertest.GraceThere)
	page := handlertest.Document(t, s.Get(links.Board))
	if text := page.Find("#toasts").Text(); !strings.Contains(text, "You are in Default") {
		t.Errorf("toasts %q", text)
	}
	// It is the only way in, and stays.
	handlertest.WantRedirect(t, s.Post(links.IdentityUnlink, url.Values{}), links.Account)
	// The question is over with its answer.
	handlertest.WantStatus(t, s.Get(links.IdentityAccept), http.StatusBadRequest)
	clear(s.Cookies)
	handlertest.WantRedirect(t, s.Via(t, "/login/oidc", handlertest.GraceThere), links.Board)
	// The link worked once.
	clear(s.Cookies)
	handlertest.WantRedirect(t, s.Via(t, links.IdentityJoin(token), handlertest.AdaThere), links.IdentityAccept)
	handlertest.WantStatus(t, s.Get(links.IdentityAccept), http.StatusNotFound)
	handlertest.WantRedirect(t, s.Get("/board"), "/login")
}

// The provider's e-mail is that of the owner here: whoever it is reads what to
// do, and nothing is made.
func TestIdentityJoinEmailTaken(t *testing.T) {
	s := handlertest.OwnedSite(t, handlertest.WithProvider(t))
	token := s.Invite(t, "ada2@example.org")
	before := s.People(t)
	handlertest.WantRedirect(t, s.Via(t, links.IdentityJoin(token), handlertest.AdaThere), links.IdentityAccept)
	res := s.Post(links.IdentityAccept, url.Values{"join": {s.JoinKey(t)}})
	if text := handlertest.Document(t, res).Find("main").Text(); res.StatusCode < 400 || !strings.Contains(text, "No account could be made") {
		t.Errorf("%d, the page says %q", res.StatusCode, text)
	}
	if after := s.People(t); after != before {
		t.Errorf("there are %v, before %v", after, before)
	}
	handlertest.WantRedirect(t, s.Get("/board"), "/login")
	clear(s.Cookies)
	s.JoinVia(t, token, handlertest.GraceThere)
}
