package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

// The same moment is shown to each reader in his own zone and locale, in a list and
// within a sentence. Without JavaScript it is UTC, and says so.
func TestTimesAreThoseOfTheReader(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	at := time.Date(2099, 1, 31, 18, 0, 0, 0, time.UTC)
	answer, err := s.owner().CreateJobWithResponse(t.Context(), nil, api.NewJob{Title: "Later", NotBefore: &at})
	if err != nil || answer.StatusCode() != http.StatusCreated {
		t.Fatalf("submit: %v %s", err, answer.Body)
	}
	for _, c := range []struct {
		how  look
		text string
	}{
		{look{theme: "light", width: 1440, height: 900, zone: "America/New_York", locale: "en-US"}, "Jan 31, 2099, 1:00\u202fPM"},
		{look{theme: "light", width: 1440, height: 900, zone: "Asia/Kolkata", locale: "de-DE"}, "31.01.2099, 23:30"},
		{look{theme: "light", width: 1440, height: 900, zone: "Asia/Kolkata", locale: "de-DE", noScript: true}, "31 Jan 2099 18:00 UTC"},
	} {
		v := s.visit(c.how)
		v.logIn()
		v.open("/jobs/FB-1")
		for _, place := range []string{"#why", ".jobside"} {
			v.must(place+" says "+c.text, v.tab.Locator(place+" time:text-is('"+c.text+"')").First().WaitFor())
		}
		v.must("the event has its time", v.tab.Locator("#events time[datetime]").First().WaitFor())
		if c.how.noScript {
			v.sees("#events time:has-text('UTC')")
		}
	}
}
