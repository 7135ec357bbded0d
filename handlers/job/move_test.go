package job_test

import (
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers/history"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/ui"
)

func version(j jobs.Job) string { return strconv.Itoa(j.Version) }

func TestMoveWithoutJavaScript(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	j := d.Job("Alpha")
	r := handlertest.Request(http.MethodPost, "/jobs/"+j.Key+"/move", url.Values{"to": {"waiting"}, "version": {version(j)}})
	r.Header.Set("Referer", "http://example.com/board?repo=docs")
	handlertest.WantRedirect(t, d.Do(r), "/board?repo=docs")
	if now := d.Now(j); now.Status != jobs.Paused {
		t.Fatalf("the job is %s", now.Status)
	}
	handlertest.WantText(t, handlertest.Page(t, d.Get("/board"), http.StatusOK), "#toasts", "FB-1 is in Waiting")
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/board"), http.StatusOK), "#toasts .toastx", 0)

	r = handlertest.Request(http.MethodPost, "/jobs/"+j.Key+"/move", url.Values{"to": {"ready"}})
	r.Header.Set("Referer", "https://evil.example/board")
	handlertest.WantRedirect(t, d.Do(r), "/board")
}

func TestMoveByHtmxAnswersWithTheColumns(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	j := d.Job("Alpha")
	d.Job("Beta")
	doc := handlertest.Page(t, d.Hx("/board?q=alpha", "/jobs/FB-1/move", url.Values{"to": {"waiting"}, "version": {version(j)}}), http.StatusOK)
	handlertest.WantCount(t, doc, `hx-partial[hx-target="#col-ready"]`, 1)
	handlertest.WantCount(t, doc, "#col-waiting #card-fb-1", 1)
	handlertest.WantCount(t, doc, "#col-ready [data-card]", 0) // Beta does not pass the filter
	handlertest.WantCount(t, doc, "html .app", 0)
}

func TestMoveThatDoesNotFitComesBack(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	j := d.Job("Alpha")
	doc := handlertest.Page(t, d.Hx("/board", "/jobs/FB-1/move", url.Values{"to": {"running"}, "version": {version(j)}}), http.StatusConflict)
	handlertest.WantCount(t, doc, `hx-partial[hx-target="#card-fb-1"] #card-fb-1`, 1)
	handlertest.WantText(t, doc, `hx-partial[hx-target="#toasts"]`, "FB-1 is in Ready")
	handlertest.WantText(t, doc, `hx-partial[hx-target="#toasts"]`, "when an agent claims it")

	doc = handlertest.Page(t, d.Hx("/board", "/jobs/FB-1/move", url.Values{"to": {"waiting"}, "version": {"99"}}), http.StatusConflict)
	handlertest.WantText(t, doc, `hx-partial[hx-target="#toasts"]`, "It has changed since you saw it")
	if now := d.Now(j); now.Status != jobs.Ready {
		t.Fatalf("the job is %s", now.Status)
	}
	handlertest.Read(t, d.Hx("/board", "/jobs/FB-1/move", url.Values{"to": {"nowhere"}}), http.StatusUnprocessableEntity)
	handlertest.Read(t, d.Hx("/board", "/jobs/FB-1/move", url.Values{"to": {"ready"}, "version": {"x"}}), http.StatusBadRequest)
	handlertest.Read(t, d.Hx("/board", "/jobs/FB-99/move", url.Values{"to": {"ready"}}), http.StatusNotFound)
}

// A newer state that is already where the move goes is success.
func TestMoveOfAJobThatIsThereAlready(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	j := d.Job("Alpha")
	if _, err := d.OtherProcess.Act(t.Context(), d.Owner, j.Key, actions.Action{Verb: jobs.ByPause}); err != nil {
		t.Fatal(err)
	}
	doc := handlertest.Page(t, d.Hx("/board", "/jobs/FB-1/move", url.Values{"to": {"waiting"}, "version": {version(j)}}), http.StatusOK)
	handlertest.WantCount(t, doc, "#col-waiting #card-fb-1", 1)
}

func TestMoveOfARunningJobAsksItsAgent(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha")
	j := d.Claim(d.Agent("claude-1"))
	doc := handlertest.Page(t, d.Hx("/board", "/jobs/FB-1/move", url.Values{"to": {"waiting"}, "version": {version(j)}}), http.StatusOK)
	handlertest.WantText(t, doc, `hx-partial[hx-target="#toasts"]`, "claude-1 is asked to pause FB-1")
	handlertest.WantText(t, doc, "#col-running #card-fb-1", "Pausing… asked by Mara Ilić, the agent has")
	handlertest.WantCount(t, doc, "#card-fb-1 svg[role=img][aria-label='Pausing…']", 1)
	doc = handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, ".jobhead .pill", "Pausing…")
	handlertest.WantText(t, doc, "#attempt-1", "Pausing…")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/agents"), http.StatusOK), "#agents-panel .ast", "Pausing…")
}

func TestActions(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha")
	doc := handlertest.Page(t, d.Hx("/jobs/FB-1", "/jobs/FB-1/block", url.Values{"reason": {"Waits for the contract"}}), http.StatusOK)
	handlertest.WantText(t, doc, "#job-panel #why", "Blocked by Mara Ilić: Waits for the contract")
	handlertest.WantText(t, doc, `hx-partial[hx-target="#toasts"]`, "FB-1 blocked")

	doc = handlertest.Page(t, d.Hx("/jobs/FB-1", "/jobs/FB-1/block", url.Values{"reason": {"again"}}), http.StatusConflict)
	handlertest.WantText(t, doc, `hx-partial[hx-target="#toasts"]`, "FB-1 is blocked now")
	handlertest.WantCount(t, doc, "#job-actions", 1)

	handlertest.Read(t, d.Hx("/jobs/FB-1", "/jobs/FB-1/unblock", nil), http.StatusOK)
	text := handlertest.Read(t, d.Hx("/jobs/FB-1", "/jobs/FB-1/block", nil), http.StatusUnprocessableEntity)
	handlertest.WantText(t, handlertest.Parse(t, text), ".toastx", "Reason: It must not be empty")
	handlertest.Read(t, d.Hx("/jobs/FB-1", "/jobs/FB-1/claim", nil), http.StatusNotFound)

	r := handlertest.Request(http.MethodPost, "/jobs/FB-1/cancel", url.Values{"reason": {"Not needed"}})
	r.Header.Set("Referer", "http://example.com/jobs/FB-1")
	handlertest.WantRedirect(t, d.Do(r), "/jobs/FB-1")
	doc = handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "FB-1 cancelled")
	handlertest.WantText(t, doc, "#why", "FB-1 was cancelled by Mara Ilić: Not needed")
	handlertest.WantCount(t, doc, "form[action='/jobs/FB-1/retry']", 1) // in the bar at every width, so not in the menu
}

// Dragging work in review back to Ready leads to the dialog for the reason.
func TestMovingWorkInReviewLeadsToItsReview(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.HandIn(d.Agent("claude-1"), "Alpha", report.Completion{})
	doc := handlertest.Page(t, d.Hx("/board", "/jobs/FB-1/move", url.Values{"to": {"ready"}}), http.StatusConflict)
	handlertest.WantCount(t, doc, `.toastx a[href="/review?job=FB-1#dlg-reject"]`, 1)
	doc = handlertest.Page(t, d.Hx("/board", "/jobs/FB-1/move", url.Values{"to": {"done"}}), http.StatusConflict)
	handlertest.WantCount(t, doc, `.toastx a[href="/review?job=FB-1"]`, 1)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/review?job=FB-1"), http.StatusOK), "#dlg-reject", 1)
}

// Who manages the workspace deletes what has ended, after a question.
func TestAFinishedJobIsDeletedOnItsPage(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha")
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK), "form[action='/jobs/FB-1/delete']", 0)
	d.Do(handlertest.Request(http.MethodPost, "/jobs/FB-1/cancel", url.Values{"reason": {"Not needed"}}))
	d.Job("Beta", func(n *jobs.New) { n.DependsOn = []string{"FB-1"} })
	handlertest.WantCount(t, handlertest.Page(t, d.As(tenancy.RoleMember).Get("/jobs/FB-1"), http.StatusOK), "form[action='/jobs/FB-1/delete']", 0)
	doc := handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, "#dlg-delete", "deleted for good")
	handlertest.WantRedirect(t, d.Do(handlertest.Request(http.MethodPost, "/jobs/FB-1/delete", nil)), "/jobs/FB-1")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK), "#toasts", "FB-2 depends on FB-1")
	handlertest.Read(t, d.Hx("/jobs/FB-2", "/jobs/FB-2/unlink", url.Values{"other": {"FB-1"}, "type": {"blocks"}}), http.StatusOK)
	if to := d.Hx("/jobs/FB-1", "/jobs/FB-1/delete", nil).Header.Get("HX-Redirect"); to != "/board" {
		t.Errorf("leads to %q; want the board", to)
	}
	handlertest.Read(t, d.Get("/jobs/FB-1"), http.StatusNotFound)
	gone := eventlog.Event{Type: eventlog.JobPurged}
	if said := history.FactText(gone, map[string]any{"key": "FB-1", "events": 2.0}); !reflect.DeepEqual(said, ui.Text("FB-1 with 2 events")) {
		t.Errorf("the timeline says %v", said)
	}
}

// A move that needs a confirmation on the job's page is not made without it: the board is
// given its dialog, a plain form leads to it.
func TestAMoveThatAsksIsNotMadeAtOnce(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	j := d.Job("Alpha")
	handlertest.WantRedirect(t, d.Post("/jobs/FB-1/move", url.Values{"to": {"failed"}, "version": {version(j)}}), "/jobs/FB-1#dlg-cancel")
	handlertest.WantRedirect(t, d.Get("/jobs/FB-1/ask/cancel"), "/jobs/FB-1#dlg-cancel")
	if now := d.Now(j); now.Status != jobs.Ready {
		t.Errorf("FB-1 is %s", now.Status)
	}
	r := handlertest.Request(http.MethodGet, "/jobs/FB-1/ask/cancel", nil)
	r.Header.Set("HX-Request", "true")
	doc := handlertest.Page(t, d.Do(r), http.StatusOK)
	handlertest.WantText(t, doc, "#dlg-cancel", "Cancel FB-1?")
	handlertest.WantCount(t, doc, `#dlg-cancel form[data-about=card-fb-1] [name=version][value="`+version(j)+`"]`, 1)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK), "#job-menu [name=to][value=failed]", 0)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/board"), http.StatusOK), `#card-fb-1 a[data-to=failed][data-ask="/jobs/FB-1/ask/cancel"]`, 1)
	r = handlertest.Request(http.MethodGet, "/jobs/FB-1/ask/merge", nil)
	r.Header.Set("HX-Request", "true")
	handlertest.Read(t, d.Do(r), http.StatusConflict)
	r = handlertest.Request(http.MethodGet, "/jobs/FB-1/ask/nonsense", nil)
	r.Header.Set("HX-Request", "true")
	handlertest.Read(t, d.Do(r), http.StatusNotFound)
}
