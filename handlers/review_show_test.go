package handlers

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// handIn makes a job and lets the agent hand it in for review.
func (d *desk) handIn(agent tenancy.Principal, title string, c dispatch.Completion, change ...func(*jobs.New)) jobs.Job {
	d.t.Helper()
	needed := true
	d.job(title, append(change, func(n *jobs.New) { n.ReviewRequired = &needed })...)
	j := d.claim(agent)
	done, err := d.elsewhere.Complete(d.t.Context(), agent, dispatch.Ref{Job: j.Key, Epoch: j.Epoch}, c)
	if err != nil {
		d.t.Fatal(err)
	}
	return done
}

// decide posts a decision as the form of the review page does, on what the page
// shows.
func (s *site) decide(t *testing.T, key, verb string, fields url.Values) answer {
	t.Helper()
	doc := page(t, s.get("/review?job="+key), http.StatusOK)
	form := doc.Find(`form[action="/review/` + key + `/` + verb + `"]`).First()
	if form.Length() == 0 {
		t.Fatalf("the page of %s offers no %s", key, verb)
	}
	sent := url.Values{"epoch": {form.Find("[name=epoch]").AttrOr("value", "")}, "head": {form.Find("[name=head]").AttrOr("value", "")}}
	for name, value := range fields {
		sent[name] = value
	}
	return s.post("/review/"+key+"/"+verb, sent)
}

// The page shows who waits for how long, and all that is needed to decide.
func TestReviewPageShowsWhatIsToBeDecided(t *testing.T) {
	d := newDesk(t)
	agent := d.agent("claude-1")
	d.handIn(agent, "Newer", dispatch.Completion{})
	d.handIn(agent, "Alpha", dispatch.Completion{Summary: "One **guarded** update <script>x</script>", Commit: "9be04d1f00", Branch: "fleet/FB-2",
		URL: "https://git.example/x/1", Result: json.RawMessage(`{"diff": "+++ b/a.go\n@@ -1 +1 @@\n-old\n+new\n", "tests": {"passed": 12, "failed": 0}}`)},
		func(n *jobs.New) { n.Acceptance, n.Repo = []string{"It is so", "It stays so"}, "ledger-api" })
	dbfactory.Exec(t, d.db, `UPDATE job SET status_at = now() - interval '3 hours' WHERE title = 'Alpha'`)

	wantRedirect(t, d.get("/review"), "/review?job=FB-2")
	doc := page(t, d.get("/review?job=FB-2"), http.StatusOK)
	wantText(t, doc, "#review-count", "2 wait for a decision")
	wantText(t, doc, "#nav-review-n", "2")
	wantText(t, doc, ".rv-qh", "1 of 2")
	wantText(t, doc, ".rq-cur", "FB-2")
	wantText(t, doc, ".rq-cur .warn", "3h")
	wantText(t, doc, ".rq-cur", "+1 −1 claude-1")
	wantText(t, doc, ".rv-head", "ledger-api· priority 5· claude-1 on factory-of-claude-1· first attempt· took")
	wantText(t, doc, "#review-summary strong", "guarded")
	wantCount(t, doc, "#review-summary script", 0)
	wantText(t, doc, "#review-changes", "a.go")
	wantText(t, doc, "#review-changes .d-a", "new")
	wantText(t, doc, "#review-findings", "failed 0, passed 12")
	wantText(t, doc, ".rv-r", "0 of 2")
	wantText(t, doc, "#review-commit", "9be04d1")
	wantCount(t, doc, `a[href="https://git.example/x/1"][rel~=nofollow]`, 1)
	wantCount(t, doc, "#dlg-reject textarea[required]", 1)
	wantCount(t, doc, `#live[hx-sse\:connect*="on=review"]`, 1)
	if next := doc.Find("[data-key~=j]").AttrOr("href", ""); next != "/review?job=FB-1" {
		t.Errorf("next leads to %q", next)
	}
	wantCount(t, doc, "[data-key~=k]", 0)
	wantCount(t, doc, `#do-approve[data-key=a]`, 1)
}

func TestReviewPageWithNothingToDo(t *testing.T) {
	d := newDesk(t)
	doc := page(t, d.get("/review"), http.StatusOK)
	wantText(t, doc, ".empty", "Nothing to review")
	wantText(t, doc, "#nav-review-n", "")
	wantCount(t, doc, "#review-bar", 0)
	page(t, d.get("/review?job=FB-9"), http.StatusOK)
	page(t, d.get("/review?after=nonsense"), http.StatusBadRequest)
}

// A decision leads on to the next job and says what was done; the event names
// the commit that was looked at.
func TestApproveGoesOnToTheNextJob(t *testing.T) {
	d := newDesk(t)
	agent := d.agent("claude-1")
	for _, title := range []string{"One", "Two", "Three"} {
		d.handIn(agent, title, dispatch.Completion{Commit: "c-" + title})
	}
	wantRedirect(t, d.decide(t, "FB-2", "approve", nil), "/review?job=FB-3")
	doc := page(t, d.get("/review?job=FB-3"), http.StatusOK)
	wantText(t, doc, "#toasts", "FB-2 approved")
	wantText(t, doc, ".rv-q", "To be merged")
	wantCount(t, page(t, d.get("/review?job=FB-3"), http.StatusOK), "#toasts > *", 0)
	if head := dbfactory.Text(t, d.db, `SELECT payload->>'head' FROM event WHERE type = 'job.approved'`); head != "c-Two" {
		t.Errorf("the approval names %q", head)
	}
	wantRedirect(t, d.decide(t, "FB-3", "approve", nil), "/review?job=FB-1")
	wantRedirect(t, d.decide(t, "FB-1", "approve", nil), "/review?job=FB-2")
	wantRedirect(t, d.decide(t, "FB-2", "merge", url.Values{"commit": {"abc"}, "url": {"https://git.example/m/1"}}), "/review?job=FB-3")
	if now := d.now(jobs.Job{Key: "FB-2"}); now.Status != jobs.Completed {
		t.Errorf("FB-2 is %s", now.Status)
	}
	wantRedirect(t, d.decide(t, "FB-3", "merge_fail", url.Values{"reason": {"conflicts"}}), "/review?job=FB-1")
	doc = page(t, d.get("/review?job=FB-3"), http.StatusOK)
	wantText(t, doc, ".note-fb", "Merge failed, says Mara Ilić")
	wantText(t, doc, ".note-fb", "conflicts")
}

// What was rejected comes back with its reason, to the agent and to the page.
func TestRejectNeedsAReasonThatTheNextAttemptGets(t *testing.T) {
	d := newDesk(t)
	agent := d.agent("claude-1")
	d.handIn(agent, "Alpha", dispatch.Completion{})
	wantRedirect(t, d.decide(t, "FB-1", "reject", url.Values{"reason": {"  "}}), "/review?job=FB-1")
	doc := page(t, d.get("/review?job=FB-1"), http.StatusOK)
	wantText(t, doc, "#toasts", "Reject was not done")
	wantRedirect(t, d.decide(t, "FB-1", "reject", url.Values{"reason": {"Measure it."}}), "/review")
	wantText(t, page(t, d.get("/review?job=FB-1"), http.StatusOK), "#review-gone", "FB-1 is not in review. Ready since")
	again := d.claim(agent)
	if again.Feedback != "Measure it." {
		t.Errorf("the next attempt gets %q", again.Feedback)
	}
	if _, err := d.elsewhere.Complete(t.Context(), agent, dispatch.Ref{Job: "FB-1", Epoch: 2}, dispatch.Completion{}); err != nil {
		t.Fatal(err)
	}
	doc = page(t, d.get("/review?job=FB-1"), http.StatusOK)
	wantText(t, doc, ".note-fb", "Sent back by Mara Ilić")
	wantText(t, doc, ".note-fb", "Measure it.")
	wantText(t, doc, ".rv-head", "second attempt")
	wantText(t, page(t, d.get("/jobs/FB-1"), http.StatusOK), "#talk-1-0", "Measure it.")
}

// A decision is for the attempt that was looked at, not for the one that came in
// its place; a tick in between does not disturb it.
func TestADecisionIsForTheAttemptThatWasSeen(t *testing.T) {
	d := newDesk(t)
	agent := d.agent("claude-1")
	j := d.handIn(agent, "Alpha", dispatch.Completion{}, func(n *jobs.New) { n.Acceptance = []string{"It is so"} })
	reject := func(epoch int64) answer {
		return d.post("/review/FB-1/reject", url.Values{"reason": {"no"}, "epoch": {strconv.FormatInt(epoch, 10)}})
	}
	d.post("/jobs/FB-1/tick", url.Values{"index": {"0"}, "text": {"It is so"}, "met": {"true"}})
	wantRedirect(t, reject(j.Epoch), "/review")
	again := d.claim(agent)
	if _, err := d.elsewhere.Complete(t.Context(), agent, dispatch.Ref{Job: "FB-1", Epoch: again.Epoch}, dispatch.Completion{}); err != nil {
		t.Fatal(err)
	}
	wantRedirect(t, reject(j.Epoch), "/review?job=FB-1")
	wantText(t, page(t, d.get("/review?job=FB-1"), http.StatusOK), "#toasts", "FB-1 has changed since you saw it")
	if now := d.now(j); now.Status != jobs.InReview {
		t.Errorf("FB-1 is %s; the second attempt was rejected unseen", now.Status)
	}
	wantRedirect(t, d.post("/review/FB-1/merge", url.Values{"epoch": {"2"}}), "/review?job=FB-1")
	page(t, d.post("/review/FB-1/cancel", url.Values{"epoch": {"2"}}), http.StatusNotFound)
}

// Two people tick at once; who edits the criteria meanwhile is noticed.
func TestTicksOfTwoPeopleBothCount(t *testing.T) {
	d := newDesk(t)
	agent := d.agent("claude-1")
	j := d.handIn(agent, "Alpha", dispatch.Completion{}, func(n *jobs.New) { n.Acceptance = []string{"One", "Two", "Three"} })
	tick := func(s *site, index, text, met string) answer {
		return s.hx("/review?job=FB-1", "/jobs/FB-1/tick", url.Values{"index": {index}, "text": {text}, "met": {met}})
	}
	other := d.as(tenancy.RoleMember)
	page(t, tick(d.site, "0", "One", "true"), http.StatusOK)
	doc := page(t, tick(other, "1", "Two", "true"), http.StatusOK)
	wantText(t, doc, ".rv-r", "2 of 3")
	wantCount(t, doc, `hx-partial[hx-target="#review-job"] #tick-1[aria-checked=true]`, 1)
	wantText(t, page(t, tick(d.site, "0", "One", "false"), http.StatusOK), ".rv-r", "1 of 3")
	if now := d.now(j); now.AcceptanceMet[0] || !now.AcceptanceMet[1] || now.AcceptanceMet[2] {
		t.Errorf("ticked are %v", now.AcceptanceMet)
	}
	doc = page(t, tick(d.site, "2", "Three, as it was", "true"), http.StatusConflict)
	wantText(t, doc, ".toastx", "The criteria of FB-1 have changed")
	page(t, tick(d.site, "3", "Four", "true"), http.StatusConflict)
	page(t, tick(d.site, "x", "Four", "true"), http.StatusBadRequest)
	page(t, tick(d.as(tenancy.RoleViewer), "2", "Three", "true"), http.StatusForbidden)
}

// Who may only look sees the same, and nothing to press.
func TestViewersSeeReviewsAndDecideNothing(t *testing.T) {
	d := newDesk(t)
	d.handIn(d.agent("claude-1"), "Alpha", dispatch.Completion{}, func(n *jobs.New) { n.Acceptance = []string{"It is so"} })
	viewer := d.as(tenancy.RoleViewer)
	doc := page(t, viewer.get("/review?job=FB-1"), http.StatusOK)
	wantText(t, doc, ".rv-head h2", "Alpha")
	wantCount(t, doc, "#review-job form, dialog form[action^='/review']", 0)
	wantText(t, doc, "#review-bar", "Your role may look, not decide.")
	page(t, viewer.post("/review/FB-1/approve", url.Values{"epoch": {"1"}}), http.StatusForbidden)
}

// The stream brings what was handed in meanwhile, and tells of a job that
// somebody else decided on instead of putting another one in its place.
func TestReviewPageIsLive(t *testing.T) {
	d := newDesk(t)
	agent := d.agent("claude-1")
	d.handIn(agent, "Alpha", dispatch.Completion{})
	live := d.stream(t, d.listen(t)+d.liveURL("/review?job=FB-1"), "")
	d.handIn(agent, "Beta", dispatch.Completion{})
	message := live.until(`id="rq-fb-2"`).data
	doc := parse(t, message)
	wantText(t, doc, "#review-count", "2 wait for a decision")
	wantText(t, doc, "#review-job h2", "Alpha")
	// The list may have been read for an earlier event than the one that counts.
	if !strings.Contains(message, `id="nav-review-n"`) {
		message = live.until(`id="nav-review-n"`).data
	}
	wantText(t, parse(t, message), "#nav-review-n", "2")
	if _, err := d.elsewhere.Act(t.Context(), d.owner, "FB-1", dispatch.Action{Verb: jobs.ByReject, Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	doc = parse(t, live.until("FB-1 is not in review.").data)
	wantText(t, doc, "#review-job h2", "Alpha")
	wantCount(t, doc, "#do-approve", 0)
	if next := doc.Find("#review-gone a").AttrOr("href", ""); next != "/review?job=FB-2" {
		t.Errorf("the next job is at %q", next)
	}
}

// The navigation of every other page counts along.
func TestTheNavigationCountsReviews(t *testing.T) {
	d := newDesk(t)
	agent := d.agent("claude-1")
	live := d.stream(t, d.listen(t)+d.liveURL("/agents"), "")
	d.handIn(agent, "Alpha", dispatch.Completion{})
	wantText(t, parse(t, live.until(`id="nav-review-n"`).data), "#nav-review-n", "1")
}
