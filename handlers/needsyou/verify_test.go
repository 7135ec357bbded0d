package needsyou_test

import (
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// Work waits for a person once it has a verdict, its verification is closed, or nobody may verify it, and
// not while somebody may.
func TestVerifiedWorkWaitsForAPersonWhenNobodyVerifies(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Verified()
	ada := d.Agent("ada")
	want := func(listed, count, reason string) {
		t.Helper()
		doc := handlertest.Page(t, d.Get("/needs-you"), http.StatusOK)
		if got := keysOf(doc); got != listed {
			t.Errorf("the page lists %q, want %q", got, listed)
		}
		handlertest.WantText(t, doc, "#nav-needs-n", count)
		handlertest.WantText(t, doc, "#nav-review-n", count)
		if listed != "" {
			handlertest.WantText(t, doc, "#need-"+listed, reason)
		}
	}
	d.HandIn(ada, "Work", report.Completion{Commit: "abc1234"}, handlertest.InBooks)
	want("fb-1", "1", "Nobody may verify it, in FB-2: ada wrote the work, and no other agent could; decide without it, or start another agent")
	bob := d.Agent("bob")
	want("", "", "")
	held := d.Claim(bob)
	want("", "", "")
	d.Says(bob, held, `{"verdict": "unsure", "criteria": [], "findings": []}`)
	want("fb-1", "1", "bob is not sure, in FB-2")
	d.Act(t, "FB-1", actions.Action{Verb: jobs.ByReject, Reason: "Again."})
	want("", "", "")
	d.HandInAgain(ada, "def5678")
	want("", "", "")
	d.Act(t, "FB-3", actions.Action{Verb: jobs.ByCancel, Reason: "no"})
	want("fb-1", "1", "Its verification ended without a verdict")
	d.Act(t, "FB-1", actions.Action{Verb: jobs.ByApprove})
	want("", "", "")
}
