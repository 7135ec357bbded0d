package settings_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/views/links"
)

// A log in from a new browser or network shows in the person's other browsers,
// and ended there where it was somebody else's.
func TestNewLogInsAreTold(t *testing.T) {
	client := "192.0.2.1:40000"
	s := handlertest.OwnedSite(t, func(d *handlers.Deps) { d.ClientAddress = func(*http.Request) string { return client[:len(client)-6] } })
	s.Probe()
	s.LogIn(t)
	news := func(b *handlertest.Site) int {
		return handlertest.Document(t, b.Get(links.Account)).Find("#logins li").Length()
	}
	if news(s) != 0 {
		t.Error("the first log in is news")
	}
	s.LogIn(t) // the same browser again, from the same network
	if n := news(s); n != 0 {
		t.Errorf("%d log ins are news of a known browser", n)
	}
	thief := s.Browser()
	client = "203.0.113.9:40000"
	thief.LogIn(t)
	doc := handlertest.Document(t, s.Get(links.Account))
	handlertest.WantText(t, doc, "#logins li", "203.0.113.9")
	if news(thief) != 0 {
		t.Error("the thief may say that it was the owner")
	}
	mine := doc.Find("#logins form").First().AttrOr("action", "")
	notMine := doc.Find("#logins form").Last().AttrOr("action", "")
	handlertest.WantStatus(t, thief.Post(mine, nil), http.StatusNotFound)
	handlertest.WantRedirect(t, s.Post(notMine, nil), links.Account+"#password-part")
	if thief.SignedIn() || !s.SignedIn() {
		t.Error("not exactly the thief is logged out")
	}
	if n := dbfactory.Int(t, s.DB, "SELECT count(*) FROM event WHERE type = $1", eventlog.LogInDisowned); n != 1 || news(s) != 0 {
		t.Errorf("%d events, %d log ins are news", n, news(s))
	}
	handlertest.WantStatus(t, s.Post(notMine, nil), http.StatusNotFound)

	// A known browser in a new network is news as well; the owner says so.
	handlertest.WantRedirect(t, s.Post("/login", url.Values{"email": {handlertest.OwnerEmail}, "password": {handlertest.OwnerPassword}}), links.Board)
	other := s.Browser()
	other.LogIn(t)
	mine = handlertest.Document(t, s.Get(links.Account)).Find("#logins form").First().AttrOr("action", "")
	handlertest.WantRedirect(t, s.Post(mine, nil), links.Account)
	if !other.SignedIn() {
		t.Error("the owner's own browser was logged out")
	}
}
