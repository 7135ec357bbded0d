package board_test

import (
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
)

// A card in review says how far its verification is, that of the verify job what it verifies, and others
// nothing of it.
func TestACardSaysHowFarItsVerificationIs(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Verified()
	ada := d.Agent("ada")
	d.HandIn(ada, "Work", report.Completion{Commit: "abc1234"}, handlertest.InBooks)
	d.HandIn(ada, "Other", report.Completion{Commit: "fff0000"})
	want := func(card, text string) {
		t.Helper()
		handlertest.WantText(t, handlertest.Page(t, d.Get("/board"), http.StatusOK), "#card-"+card, text)
	}
	want("fb-1", "Nobody may verify it · round 1 of 3")
	bob := d.Agent("bob")
	want("fb-1", "Waits for a verifier · round 1 of 3")
	want("fb-2", "Verifies FB-1")
	want("fb-3", "Commit fff0000 waits for a review")
	held := d.Claim(bob)
	want("fb-1", "Verifying · bob · ")
	d.Says(bob, held, `{"verdict": "unsure", "criteria": [], "findings": []}`)
	want("fb-1", "bob is not sure · round 1 of 3")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/FB-2"), http.StatusOK), ".jobmeta", "verifies FB-1")
	if c := handlertest.Page(t, d.Get("/board"), http.StatusOK).Find("#card-fb-3 .job-r").Length(); c != 1 {
		t.Errorf("a card of another product has %d lines", c)
	}
}
