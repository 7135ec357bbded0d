package handlers

import (
	"net/http"
	"net/url"
	"testing"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/eventlog"
	"fleetboard/views/links"
)

// A log in from a new browser or network is told to the person's other browsers,
// and ended there where it was somebody else's.
func TestNewLogInsAreTold(t *testing.T) {
	client := "192.0.2.1:40000"
	s := ownedSite(t, func(d *Deps) { d.ClientAddress = func(*http.Request) string { return client[:len(client)-6] } })
	s.probe()
	s.logIn(t)
	news := func(b *site) int { return document(t, b.get(links.Account)).Find("#logins li").Length() }
	if news(s) != 0 {
		t.Error("the first log in is news")
	}
	s.logIn(t) // the same browser again, from the same network
	if n := news(s); n != 0 {
		t.Errorf("%d log ins are news of a known browser", n)
	}
	thief := s.browser()
	client = "203.0.113.9:40000"
	thief.logIn(t)
	doc := document(t, s.get(links.Account))
	wantText(t, doc, "#logins li", "203.0.113.9")
	if news(thief) != 0 {
		t.Error("the thief may say that it was the owner")
	}
	mine := doc.Find("#logins form").First().AttrOr("action", "")
	notMine := doc.Find("#logins form").Last().AttrOr("action", "")
	wantStatus(t, thief.post(mine, nil), http.StatusNotFound)
	wantRedirect(t, s.post(notMine, nil), links.Account+"#password-part")
	if thief.signedIn() || !s.signedIn() {
		t.Error("not exactly the thief is logged out")
	}
	if n := dbfactory.Int(t, s.db, "SELECT count(*) FROM event WHERE type = $1", eventlog.LogInDisowned); n != 1 || news(s) != 0 {
		t.Errorf("%d events, %d log ins are news", n, news(s))
	}
	wantStatus(t, s.post(notMine, nil), http.StatusNotFound)

	// A known browser in a new network is news as well; the owner says so.
	wantRedirect(t, s.post("/login", url.Values{"email": {ownerEmail}, "password": {ownerPassword}}), links.Board)
	other := s.browser()
	other.logIn(t)
	mine = document(t, s.get(links.Account)).Find("#logins form").First().AttrOr("action", "")
	wantRedirect(t, s.post(mine, nil), links.Account)
	if !other.signedIn() {
		t.Error("the owner's own browser was logged out")
	}
}
