package review_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// Whoever decides sees who verifies, and then every round with what its verifier says, as text.
func TestTheReviewShowsEveryRound(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Verified()
	ada, bob := d.Agent("ada"), d.Agent("bob")
	d.HandIn(ada, "Other", report.Completion{Commit: "fff0000"})
	d.HandIn(ada, "Work", report.Completion{Commit: "abc1234"}, handlertest.InBooks, func(n *jobs.New) { n.Acceptance = []string{"It works"} })
	page := func() (*goquery.Document, string) {
		doc := handlertest.Page(t, d.Get("/review?job=FB-2"), http.StatusOK)
		return doc, strings.Join(strings.Fields(doc.Find("#verification").Text()), " ")
	}
	doc, _ := page()
	handlertest.WantText(t, doc, "#review-count", "1 waits for a decision")
	handlertest.WantText(t, doc, "#verification-now", "It waits for an agent to verify it for")
	handlertest.WantText(t, doc, "#rq-fb-2", "Waits for a verifier · round 1 of 3")
	held := d.Claim(bob)
	doc, _ = page()
	handlertest.WantText(t, doc, "#verification-now", "bob on factory-of-bob verifies it for")
	handlertest.WantText(t, doc, "#verification-now", "A person may decide without waiting; that cancels the verification.")
	handlertest.WantText(t, doc, "#review-waits", "You need not wait for the verifier")
	handlertest.WantRedirect(t, d.Get("/review"), "/review?job=FB-1") // which waits for a person

	hostile := `<script>alert(1)</script> <img src=x onerror=alert(1)> javascript:alert(1)`
	d.Says(bob, held, handlertest.Changes("It works", "It panics "+hostile, "It divides by zero "+hostile))
	d.HandInAgain(ada, "def5678")
	second := d.Claim(bob)
	d.Use(bob, lease.Ref{Job: second.Key, Epoch: second.Epoch}, "1", "0.25", 10)
	d.Says(bob, second, `{"verdict": "approve", "criteria": [{"text": "It works", "met": "yes", "evidence": "The tests pass."}], "findings": []}`)
	doc, text := page()
	handlertest.WantCount(t, doc, ".vf-round", 2)
	handlertest.WantCount(t, doc, "#verification-now, .note-fb", 0)
	handlertest.WantCount(t, doc, "#verification script, #verification img", 0)
	handlertest.WantText(t, doc, "#review-count", "2 wait for a decision")
	handlertest.WantText(t, doc, "#rq-fb-2", "bob approves · 1 of 1 met · round 2 of 3 · $0.25")
	handlertest.WantText(t, doc, ".acc-v", "Verifier: Met")
	newest := strings.Index(text, "Approves Round 2 of 3 bob on factory-of-bob with sonnet · def5678 · FB-4 · $0.25")
	first := strings.Index(text, "Wants changes Round 1 of 3 bob on factory-of-bob with sonnet · abc1234 · FB-3 · sent back")
	if newest < 0 || first < newest {
		t.Errorf("the rounds are %s", text)
	}
	for _, want := range []string{"round 2 of 3, $0.25", "Met: It worksThe tests pass.", "Not met: It worksIt panics <script>", "Blocker b.go:7It divides by zero <script>",
		"Minor a.go:3Too long."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing of %s", want, text)
		}
	}
	if strings.Index(text, "Blocker") > strings.Index(text, "Minor") {
		t.Error("the worst finding is not the first one")
	}
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/FB-2"), http.StatusOK), "#verification", "Round 1 of 3")
}

// Whoever decides sees why the policy does not, of what is decided about now only.
func TestTheReviewSaysWhatThePolicyHeld(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Verified(func(p *jobs.ProductSettings) { p.AutoApprove.Enabled = true })
	ada, bob := d.Agent("ada"), d.Agent("bob")
	approve := `{"verdict": "approve", "criteria": [], "findings": []}`
	const held = "its verifier does not say what the commit changes"
	d.HandIn(ada, "Work", report.Completion{Commit: "abc1234"}, handlertest.InBooks)
	d.Says(bob, d.Claim(bob), approve)
	doc := handlertest.Page(t, d.Get("/review?job=FB-1"), http.StatusOK)
	handlertest.WantCount(t, doc, ".note-fb", 1)
	handlertest.WantText(t, doc, ".note-fb", "Left to a person by policy")
	handlertest.WantText(t, doc, ".note-fb", held)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK), "main", held)

	d.Act(t, "FB-1", actions.Action{Verb: jobs.ByReject, Reason: "Measure it."})
	d.HandInAgain(ada, "def5678")
	doc = handlertest.Page(t, d.Get("/review?job=FB-1"), http.StatusOK)
	handlertest.WantCount(t, doc, ".note-fb", 1)
	handlertest.WantText(t, doc, ".note-fb", "Measure it.")
}
