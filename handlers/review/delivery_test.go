package review_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
)

// A reviewer sees whether the commit is at the origin, the origin's words where it is not, and
// what was left in the work.
func TestAReviewSaysWhatBecameOfTheCommit(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("claude-1")
	d.HandIn(agent, "Alpha", report.Completion{Commit: "9be04d1f00", Branch: "fleet/FB-1", DeliveryFollows: true,
		Result: json.RawMessage(`{"conflict_markers": ["<b>a.go:3"]}`)})
	page := "/review?job=FB-1"
	doc := handlertest.Page(t, d.Get(page), http.StatusOK)
	handlertest.WantText(t, doc, "#review-delivery", "Not pushed yet factory-of-claude-1 has yet to say")
	handlertest.WantText(t, doc, "#review-warnings", "Markers of a conflict were left in <b>a.go:3.")
	handlertest.WantCount(t, doc, "#review-warnings b", 0)
	handlertest.WantText(t, doc, "#dlg-approve", "conflict markers")
	tell := func(state attempts.DeliveryState, detail string) {
		t.Helper()
		_, err := d.OtherProcess.RecordDelivery(t.Context(), agent, lease.Ref{Job: "FB-1", Epoch: 1},
			attempts.Delivery{State: state, Branch: "fleet/FB-1", Commit: "9be04d1f00", Detail: detail})
		if err != nil {
			t.Fatal(err)
		}
	}
	tell(attempts.Refused, "branches need a <script>ticket</script>\x1b[2J\u202e")
	doc = handlertest.Page(t, d.Get(page), http.StatusOK)
	handlertest.WantText(t, doc, "#review-delivery", "Refused by the origin")
	handlertest.WantText(t, doc, "#review-delivery", "branches need a <script>ticket</script>")
	handlertest.WantCount(t, doc, "#review-delivery script", 0)
	job := handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, job, "#delivery-1", "Refused by the origin")
	handlertest.WantText(t, job, "#delivery-1", "branches need a <script>ticket</script>")
	handlertest.WantText(t, job, "#why", "The origin refused fleet/FB-1 of factory-of-claude-1: branches need a")
	handlertest.WantText(t, job, "#events", "push refused")
	handlertest.WantCount(t, job, "#delivery-1 script", 0)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/FB-1/attempts"), http.StatusOK), "#attempt-1", "Refused by the origin fleet/FB-1 9be04d1")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/timeline"), http.StatusOK), "main", "push refused")

	tell(attempts.Pushed, "")
	doc = handlertest.Page(t, d.Get(page), http.StatusOK)
	handlertest.WantCount(t, doc, "#review-delivery", 0)
	handlertest.WantText(t, doc, ".rv-head", "pushed")
	job = handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantCount(t, job, "#delivery-1", 0)
	handlertest.WantText(t, job, "#attempt-1", "Pushed")
}

// Work that needed no review is done, and still says that its branch was refused.
func TestDoneWorkSaysThatItsBranchWasRefused(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("claude-1")
	d.Job("Alpha")
	j := d.Claim(agent)
	ref := lease.Ref{Job: j.Key, Epoch: j.Epoch}
	if _, err := d.OtherProcess.Complete(t.Context(), agent, ref, report.Completion{Commit: "9be04d1f00"}); err != nil {
		t.Fatal(err)
	}
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK), "#why", 0)
	_, err := d.OtherProcess.RecordDelivery(t.Context(), agent, ref, attempts.Delivery{State: attempts.Refused, Commit: "9be04d1f00", Detail: "no ticket"})
	if err != nil {
		t.Fatal(err)
	}
	doc := handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, "#why", "FB-1 is done, and its branch was refused")
	handlertest.WantText(t, doc, "#why", "no ticket")
}
