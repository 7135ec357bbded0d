package handlers

import (
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"testing"

	"fleetboard/handlers/history"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
	"fleetboard/views/ui"
)

func version(j jobs.Job) string { return strconv.Itoa(j.Version) }

func TestMoveWithoutJavaScript(t *testing.T) {
	d := newDesk(t)
	j := d.job("Alpha")
	r := request(http.MethodPost, "/jobs/"+j.Key+"/move", url.Values{"to": {"waiting"}, "version": {version(j)}})
	r.Header.Set("Referer", "http://example.com/board?repo=docs")
	wantRedirect(t, d.do(r), "/board?repo=docs")
	if now := d.now(j); now.Status != jobs.Paused {
		t.Fatalf("the job is %s", now.Status)
	}
	wantText(t, page(t, d.get("/board"), http.StatusOK), "#toasts", "FB-1 is in Waiting")
	wantCount(t, page(t, d.get("/board"), http.StatusOK), "#toasts .toastx", 0)

	r = request(http.MethodPost, "/jobs/"+j.Key+"/move", url.Values{"to": {"ready"}})
	r.Header.Set("Referer", "https://evil.example/board")
	wantRedirect(t, d.do(r), "/board")
}

func TestMoveByHtmxAnswersWithTheColumns(t *testing.T) {
	d := newDesk(t)
	j := d.job("Alpha")
	d.job("Beta")
	doc := page(t, d.hx("/board?q=alpha", "/jobs/FB-1/move", url.Values{"to": {"waiting"}, "version": {version(j)}}), http.StatusOK)
	wantCount(t, doc, `hx-partial[hx-target="#col-ready"]`, 1)
	wantCount(t, doc, "#col-waiting #card-fb-1", 1)
	wantCount(t, doc, "#col-ready [data-card]", 0) // Beta does not pass the filter
	wantCount(t, doc, "html .app", 0)
}

func TestMoveThatDoesNotFitComesBack(t *testing.T) {
	d := newDesk(t)
	j := d.job("Alpha")
	doc := page(t, d.hx("/board", "/jobs/FB-1/move", url.Values{"to": {"running"}, "version": {version(j)}}), http.StatusConflict)
	wantCount(t, doc, `hx-partial[hx-target="#card-fb-1"] #card-fb-1`, 1)
	wantText(t, doc, `hx-partial[hx-target="#toasts"]`, "FB-1 is in Ready")
	wantText(t, doc, `hx-partial[hx-target="#toasts"]`, "when an agent claims it")

	doc = page(t, d.hx("/board", "/jobs/FB-1/move", url.Values{"to": {"waiting"}, "version": {"99"}}), http.StatusConflict)
	wantText(t, doc, `hx-partial[hx-target="#toasts"]`, "It has changed since you saw it")
	if now := d.now(j); now.Status != jobs.Ready {
		t.Fatalf("the job is %s", now.Status)
	}
	read(t, d.hx("/board", "/jobs/FB-1/move", url.Values{"to": {"nowhere"}}), http.StatusUnprocessableEntity)
	read(t, d.hx("/board", "/jobs/FB-1/move", url.Values{"to": {"ready"}, "version": {"x"}}), http.StatusBadRequest)
	read(t, d.hx("/board", "/jobs/FB-99/move", url.Values{"to": {"ready"}}), http.StatusNotFound)
}

// A newer state that is already where the move goes is success.
func TestMoveOfAJobThatIsThereAlready(t *testing.T) {
	d := newDesk(t)
	j := d.job("Alpha")
	if _, err := d.elsewhere.Act(t.Context(), d.owner, j.Key, dispatch.Action{Verb: jobs.ByPause}); err != nil {
		t.Fatal(err)
	}
	doc := page(t, d.hx("/board", "/jobs/FB-1/move", url.Values{"to": {"waiting"}, "version": {version(j)}}), http.StatusOK)
	wantCount(t, doc, "#col-waiting #card-fb-1", 1)
}

func TestMoveOfARunningJobAsksItsAgent(t *testing.T) {
	d := newDesk(t)
	d.job("Alpha")
	j := d.claim(d.agent("claude-1"))
	doc := page(t, d.hx("/board", "/jobs/FB-1/move", url.Values{"to": {"waiting"}, "version": {version(j)}}), http.StatusOK)
	wantText(t, doc, `hx-partial[hx-target="#toasts"]`, "claude-1 is asked to pause FB-1")
	wantText(t, doc, "#col-running #card-fb-1", "Asked to pause by Mara Ilić, it has")
}

func TestActions(t *testing.T) {
	d := newDesk(t)
	d.job("Alpha")
	doc := page(t, d.hx("/jobs/FB-1", "/jobs/FB-1/block", url.Values{"reason": {"Waits for the contract"}}), http.StatusOK)
	wantText(t, doc, "#job-panel #why", "Blocked by Mara Ilić: Waits for the contract")
	wantText(t, doc, `hx-partial[hx-target="#toasts"]`, "FB-1 blocked")

	doc = page(t, d.hx("/jobs/FB-1", "/jobs/FB-1/block", url.Values{"reason": {"again"}}), http.StatusConflict)
	wantText(t, doc, `hx-partial[hx-target="#toasts"]`, "FB-1 is blocked now")
	wantCount(t, doc, "#job-actions", 1)

	read(t, d.hx("/jobs/FB-1", "/jobs/FB-1/unblock", nil), http.StatusOK)
	text := read(t, d.hx("/jobs/FB-1", "/jobs/FB-1/block", nil), http.StatusUnprocessableEntity)
	wantText(t, parse(t, text), ".toastx", "Reason: It must not be empty")
	read(t, d.hx("/jobs/FB-1", "/jobs/FB-1/claim", nil), http.StatusNotFound)

	r := request(http.MethodPost, "/jobs/FB-1/cancel", url.Values{"reason": {"Not needed"}})
	r.Header.Set("Referer", "http://example.com/jobs/FB-1")
	wantRedirect(t, d.do(r), "/jobs/FB-1")
	doc = page(t, d.get("/jobs/FB-1"), http.StatusOK)
	wantText(t, doc, "#toasts", "FB-1 cancelled")
	wantText(t, doc, "#why", "FB-1 was cancelled by Mara Ilić: Not needed")
	wantCount(t, doc, "form[action='/jobs/FB-1/retry']", 1) // in the bar at every width, so not in the menu
}

// Dragging work in review back to Ready leads to the dialog that asks why.
func TestMovingWorkInReviewLeadsToItsReview(t *testing.T) {
	d := newDesk(t)
	d.handIn(d.agent("claude-1"), "Alpha", dispatch.Completion{})
	doc := page(t, d.hx("/board", "/jobs/FB-1/move", url.Values{"to": {"ready"}}), http.StatusConflict)
	wantCount(t, doc, `.toastx a[href="/review?job=FB-1#dlg-reject"]`, 1)
	doc = page(t, d.hx("/board", "/jobs/FB-1/move", url.Values{"to": {"done"}}), http.StatusConflict)
	wantCount(t, doc, `.toastx a[href="/review?job=FB-1"]`, 1)
	wantCount(t, page(t, d.get("/review?job=FB-1"), http.StatusOK), "#dlg-reject", 1)
}

// Who manages the workspace deletes what has ended, after a question.
func TestAFinishedJobIsDeletedOnItsPage(t *testing.T) {
	d := newDesk(t)
	d.job("Alpha")
	wantCount(t, page(t, d.get("/jobs/FB-1"), http.StatusOK), "form[action='/jobs/FB-1/delete']", 0)
	d.do(request(http.MethodPost, "/jobs/FB-1/cancel", url.Values{"reason": {"Not needed"}}))
	d.job("Beta", func(n *jobs.New) { n.DependsOn = []string{"FB-1"} })
	wantCount(t, page(t, d.as(tenancy.RoleMember).get("/jobs/FB-1"), http.StatusOK), "form[action='/jobs/FB-1/delete']", 0)
	doc := page(t, d.get("/jobs/FB-1"), http.StatusOK)
	wantText(t, doc, "#dlg-delete", "deleted for good")
	wantRedirect(t, d.do(request(http.MethodPost, "/jobs/FB-1/delete", nil)), "/jobs/FB-1")
	wantText(t, page(t, d.get("/jobs/FB-1"), http.StatusOK), "#toasts", "FB-2 depends on FB-1")
	read(t, d.hx("/jobs/FB-2", "/jobs/FB-2/unlink", url.Values{"other": {"FB-1"}, "type": {"blocks"}}), http.StatusOK)
	if to := d.hx("/jobs/FB-1", "/jobs/FB-1/delete", nil).Header.Get("HX-Redirect"); to != "/board" {
		t.Errorf("leads to %q; want the board", to)
	}
	read(t, d.get("/jobs/FB-1"), http.StatusNotFound)
	gone := eventlog.Event{Type: eventlog.JobPurged}
	if said := history.FactText(gone, map[string]any{"key": "FB-1", "events": 2.0}); !reflect.DeepEqual(said, ui.Text("FB-1 with 2 events")) {
		t.Errorf("the timeline says %v", said)
	}
}
