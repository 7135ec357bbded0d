package review_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// The page shows who waits for how long, and all that is needed to decide.
func TestReviewPageShowsWhatIsToBeDecided(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("claude-1")
	d.HandIn(agent, "Newer", report.Completion{})
	d.HandIn(agent, "Alpha", report.Completion{Summary: "One **guarded** update <script>x</script>", Commit: "9be04d1f00", Branch: "fleet/FB-2",
		URL: "https://git.example/x/1", Result: json.RawMessage(`{"diff": "+++ b/a.go\n@@ -1 +1 @@\n-old\n+new\n", "tests": {"passed": 12, "failed": 0}}`)},
		func(n *jobs.New) { n.Acceptance, n.Repo = []string{"It is so", "It stays so"}, "ledger-api" })
	dbfactory.Exec(t, d.DB, `UPDATE job SET status_at = now() - interval '3 hours' WHERE title = 'Alpha'`)

	handlertest.WantRedirect(t, d.Get("/review"), "/review?job=FB-2")
	doc := handlertest.Page(t, d.Get("/review?job=FB-2"), http.StatusOK)
	handlertest.WantText(t, doc, "#review-count", "2 wait for a decision")
	handlertest.WantText(t, doc, "#nav-review-n", "2")
	handlertest.WantText(t, doc, ".rv-qh", "1 of 2")
	handlertest.WantText(t, doc, ".rq-cur", "FB-2")
	handlertest.WantText(t, doc, ".rq-cur .warn", "3h")
	handlertest.WantText(t, doc, ".rq-cur", "+1 −1 claude-1")
	handlertest.WantText(t, doc, ".rv-head", "ledger-api· priority 5· claude-1 on factory-of-claude-1· first attempt· took")
	handlertest.WantText(t, doc, "#review-summary strong", "guarded")
	handlertest.WantCount(t, doc, "#review-summary script", 0)
	handlertest.WantText(t, doc, "#changes", "a.go")
	handlertest.WantText(t, doc, "#changes .d-a", "new")
	handlertest.WantText(t, doc, "#review-findings", "failed 0, passed 12")
	handlertest.WantText(t, doc, ".rv-r", "0 of 2")
	handlertest.WantText(t, doc, "#review-commit", "9be04d1")
	handlertest.WantCount(t, doc, `a[href="https://git.example/x/1"][rel~=nofollow]`, 1)
	handlertest.WantCount(t, doc, "#dlg-reject textarea[required]", 1)
	handlertest.WantCount(t, doc, `#live[hx-sse\:connect*="on=review"]`, 1)
	if next := doc.Find("[data-key~=j]").AttrOr("href", ""); next != "/review?job=FB-1" {
		t.Errorf("next leads to %q", next)
	}
	handlertest.WantCount(t, doc, "[data-key~=k]", 0)
	handlertest.WantCount(t, doc, `#do-approve[data-key=a]`, 1)
}

func TestReviewPageWithNothingToDo(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.Get("/review"), http.StatusOK)
	handlertest.WantText(t, doc, ".empty", "Nothing to review")
	handlertest.WantText(t, doc, "#nav-review-n", "")
	handlertest.WantCount(t, doc, "#review-bar", 0)
	handlertest.Page(t, d.Get("/review?job=FB-9"), http.StatusOK)
	handlertest.Page(t, d.Get("/review?after=nonsense"), http.StatusBadRequest)
}

// A decision leads on to the next job and says what was done; the event names
// the commit that was looked at.
func TestApproveGoesOnToTheNextJob(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("claude-1")
	for _, title := range []string{"One", "Two", "Three"} {
		d.HandIn(agent, title, report.Completion{Commit: "c-" + title})
	}
	handlertest.WantRedirect(t, d.Decide(t, "FB-2", "approve", nil), "/review?job=FB-3")
	doc := handlertest.Page(t, d.Get("/review?job=FB-3"), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "FB-2 approved")
	handlertest.WantText(t, doc, ".rv-q", "To be merged")
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/review?job=FB-3"), http.StatusOK), "#toasts > *", 0)
	if head := dbfactory.Text(t, d.DB, `SELECT payload->>'head' FROM event WHERE type = 'job.approved'`); head != "c-Two" {
		t.Errorf("the approval names %q", head)
	}
	handlertest.WantRedirect(t, d.Decide(t, "FB-3", "approve", nil), "/review?job=FB-1")
	handlertest.WantRedirect(t, d.Decide(t, "FB-1", "approve", nil), "/review?job=FB-2")
	handlertest.WantRedirect(t, d.Decide(t, "FB-2", "merge", url.Values{"commit": {"abc"}, "url": {"https://git.example/m/1"}}), "/review?job=FB-3")
	if now := d.Now(jobs.Job{Key: "FB-2"}); now.Status != jobs.Completed {
		t.Errorf("FB-2 is %s", now.Status)
	}
	handlertest.WantRedirect(t, d.Decide(t, "FB-3", "merge_fail", url.Values{"reason": {"conflicts"}}), "/review?job=FB-1")
	doc = handlertest.Page(t, d.Get("/review?job=FB-3"), http.StatusOK)
	handlertest.WantText(t, doc, ".note-fb", "Merge failed, says Mara Ilić")
	handlertest.WantText(t, doc, ".note-fb", "conflicts")
}

// What was rejected comes back with its reason, to the agent and to the page.
func TestRejectNeedsAReasonThatTheNextAttemptGets(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("claude-1")
	d.HandIn(agent, "Alpha", report.Completion{})
	handlertest.WantRedirect(t, d.Decide(t, "FB-1", "reject", url.Values{"reason": {"  "}}), "/review?job=FB-1")
	doc := handlertest.Page(t, d.Get("/review?job=FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "Reject was not done")
	handlertest.WantRedirect(t, d.Decide(t, "FB-1", "reject", url.Values{"reason": {"Measure it."}}), "/review")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/review?job=FB-1"), http.StatusOK), "#review-gone", "FB-1 is not in review. Ready since")
	again := d.Claim(agent)
	if again.Feedback != "Measure it." {
		t.Errorf("the next attempt gets %q", again.Feedback)
	}
	if _, err := d.OtherProcess.Complete(t.Context(), agent, lease.Ref{Job: "FB-1", Epoch: 2}, report.Completion{}); err != nil {
		t.Fatal(err)
	}
	doc = handlertest.Page(t, d.Get("/review?job=FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, ".note-fb", "Sent back by Mara Ilić")
	handlertest.WantText(t, doc, ".note-fb", "Measure it.")
	handlertest.WantText(t, doc, ".rv-head", "second attempt")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK), "#talk-1-0", "Measure it.")
}

// A decision is for the attempt that was looked at, not for the one that came in
// its place; a tick in between does not disturb it.
func TestADecisionIsForTheAttemptThatWasSeen(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("claude-1")
	j := d.HandIn(agent, "Alpha", report.Completion{}, func(n *jobs.New) { n.Acceptance = []string{"It is so"} })
	reject := func(epoch int64) handlertest.Answer {
		return d.Post("/review/FB-1/reject", url.Values{"reason": {"no"}, "epoch": {strconv.FormatInt(epoch, 10)}})
	}
	d.Post("/jobs/FB-1/tick", url.Values{"index": {"0"}, "text": {"It is so"}, "met": {"true"}})
	handlertest.WantRedirect(t, reject(j.Epoch), "/review")
	again := d.Claim(agent)
	if _, err := d.OtherProcess.Complete(t.Context(), agent, lease.Ref{Job: "FB-1", Epoch: again.Epoch}, report.Completion{}); err != nil {
		t.Fatal(err)
	}
	handlertest.WantRedirect(t, reject(j.Epoch), "/review?job=FB-1")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/review?job=FB-1"), http.StatusOK), "#toasts", "FB-1 has changed since you saw it")
	if now := d.Now(j); now.Status != jobs.InReview {
		t.Errorf("FB-1 is %s; the second attempt was rejected unseen", now.Status)
	}
	handlertest.WantRedirect(t, d.Post("/review/FB-1/merge", url.Values{"epoch": {"2"}}), "/review?job=FB-1")
	handlertest.Page(t, d.Post("/review/FB-1/cancel", url.Values{"epoch": {"2"}}), http.StatusNotFound)
}

// Two people tick at once; who edits the criteria meanwhile is noticed.
func TestTicksOfTwoPeopleBothCount(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("claude-1")
	j := d.HandIn(agent, "Alpha", report.Completion{}, func(n *jobs.New) { n.Acceptance = []string{"One", "Two", "Three"} })
	tick := func(s *handlertest.Site, index, text, met string) handlertest.Answer {
		return s.Hx("/review?job=FB-1", "/jobs/FB-1/tick", url.Values{"index": {index}, "text": {text}, "met": {met}})
	}
	other := d.As(tenancy.RoleMember)
	handlertest.Page(t, tick(d.Site, "0", "One", "true"), http.StatusOK)
	doc := handlertest.Page(t, tick(other, "1", "Two", "true"), http.StatusOK)
	handlertest.WantText(t, doc, ".rv-r", "2 of 3")
	handlertest.WantCount(t, doc, `hx-partial[hx-target="#review-job"] #tick-1[aria-checked=true]`, 1)
	handlertest.WantText(t, handlertest.Page(t, tick(d.Site, "0", "One", "false"), http.StatusOK), ".rv-r", "1 of 3")
	if now := d.Now(j); now.AcceptanceMet[0] || !now.AcceptanceMet[1] || now.AcceptanceMet[2] {
		t.Errorf("ticked are %v", now.AcceptanceMet)
	}
	doc = handlertest.Page(t, tick(d.Site, "2", "Three, as it was", "true"), http.StatusConflict)
	handlertest.WantText(t, doc, ".toastx", "The criteria of FB-1 have changed")
	handlertest.Page(t, tick(d.Site, "3", "Four", "true"), http.StatusConflict)
	handlertest.Page(t, tick(d.Site, "x", "Four", "true"), http.StatusBadRequest)
	handlertest.Page(t, tick(d.As(tenancy.RoleViewer), "2", "Three", "true"), http.StatusForbidden)
}

// Who may only look sees the same, and nothing to press.
func TestViewersSeeReviewsAndDecideNothing(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.HandIn(d.Agent("claude-1"), "Alpha", report.Completion{}, func(n *jobs.New) { n.Acceptance = []string{"It is so"} })
	viewer := d.As(tenancy.RoleViewer)
	doc := handlertest.Page(t, viewer.Get("/review?job=FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, ".rv-head h2", "Alpha")
	handlertest.WantCount(t, doc, "#review-job form, dialog form[action^='/review']", 0)
	handlertest.WantText(t, doc, "#review-bar", "Your role may look, not decide.")
	handlertest.Page(t, viewer.Post("/review/FB-1/approve", url.Values{"epoch": {"1"}}), http.StatusForbidden)
}

// The stream brings what was handed in meanwhile, and names a job that
// somebody else decided on instead of putting another one in its place.
func TestReviewPageIsLive(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("claude-1")
	d.HandIn(agent, "Alpha", report.Completion{})
	live := d.Stream(t, d.Listen(t)+d.LiveURL("/review?job=FB-1"), "")
	d.HandIn(agent, "Beta", report.Completion{})
	message := live.Until(`id="rq-fb-2"`).Data
	doc := handlertest.Parse(t, message)
	handlertest.WantText(t, doc, "#review-count", "2 wait for a decision")
	handlertest.WantText(t, doc, "#review-job h2", "Alpha")
	// The list may have been read for an earlier event than the one that counts, and the
	// number may come with an earlier event too.
	for !strings.Contains(handlertest.Parse(t, message).Find("#nav-review-n").Text(), "2") {
		message = live.Until(`id="nav-review-n"`).Data
	}
	if _, err := d.OtherProcess.Act(t.Context(), d.Owner, "FB-1", actions.Action{Verb: jobs.ByReject, Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	doc = handlertest.Parse(t, live.Until("FB-1 is not in review.").Data)
	handlertest.WantText(t, doc, "#review-job h2", "Alpha")
	handlertest.WantCount(t, doc, "#do-approve", 0)
	if next := doc.Find("#review-gone a").AttrOr("href", ""); next != "/review?job=FB-2" {
		t.Errorf("the next job is at %q", next)
	}
}

// The navigation of every other page counts along.
func TestTheNavigationCountsReviews(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("claude-1")
	live := d.Stream(t, d.Listen(t)+d.LiveURL("/agents"), "")
	d.HandIn(agent, "Alpha", report.Completion{})
	handlertest.WantText(t, handlertest.Parse(t, live.Until(`id="nav-review-n">1`).Data), "#nav-review-n", "1")
}

// What speaks against an approval is named before it; with nothing against it
// there is no dialog.
func TestApprovalAsksWhereSomethingSpeaksAgainstIt(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("claude-1")
	d.HandIn(agent, "Alpha", report.Completion{Result: json.RawMessage(`{"tests": {"passed": 12, "failed": 2}, "race_free": true, "lint_clean": false}`)},
		func(n *jobs.New) { n.Acceptance = []string{"It is so", "It stays so"} })
	d.HandIn(agent, "Beta", report.Completion{Result: json.RawMessage(`{"tests": {"failed": 0}}`)})

	doc := handlertest.Page(t, d.Get("/review?job=FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, "#dlg-approve", "2 criteria are open")
	handlertest.WantText(t, doc, "#dlg-approve", "It stays so")
	handlertest.WantText(t, doc, "#dlg-approve", "2 checks failed")
	handlertest.WantText(t, doc, "#dlg-approve", "lint clean")
	handlertest.WantCount(t, doc, `#do-approve[data-key=a][commandfor=dlg-approve]`, 1)
	handlertest.WantCount(t, doc, `#review-bar form[action$="/approve"] [type=checkbox][required]`, 1)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK), "#dlg-approve", "lint clean")

	doc = handlertest.Page(t, d.Get("/review?job=FB-2"), http.StatusOK)
	handlertest.WantCount(t, doc, "#dlg-approve", 0)
	handlertest.WantCount(t, doc, "#do-approve[type=submit]", 1)
}

// A decision that is sent twice is one.
func TestADecisionSentTwiceIsOne(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	j := d.HandIn(d.Agent("claude-1"), "Alpha", report.Completion{})
	sent := url.Values{"epoch": {strconv.FormatInt(j.Epoch, 10)}}
	handlertest.WantRedirect(t, d.Post("/review/FB-1/approve", sent), "/review")
	handlertest.WantRedirect(t, d.Post("/review/FB-1/approve", sent), "/review?job=FB-1")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/review?job=FB-1"), http.StatusOK), "#toasts", "FB-1 is approved now")
	if n := dbfactory.Text(t, d.DB, `SELECT count(*)::text FROM event WHERE type = 'job.approved'`); n != "1" {
		t.Errorf("%s approvals", n)
	}
}
