package job_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// An agent's question has a form for its answer; both reach the next attempt and
// stay with the attempt that asked.
func TestAQuestionIsAnsweredOnce(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha")
	agent := d.Agent("claude-1")
	j := d.Claim(agent)
	if _, err := d.OtherProcess.Ask(t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch}, report.Question{Text: "24 hours\nor 48?"}); err != nil {
		t.Fatal(err)
	}
	doc := handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, "#question", "claude-1 asks")
	handlertest.WantText(t, doc, "#question", "24 hours or 48?")
	handlertest.WantCount(t, doc, "#answer textarea[required]", 1)
	handlertest.WantText(t, doc, "#talk-1-0", "Asked by claude-1")
	handlertest.WantCount(t, handlertest.Page(t, d.As(tenancy.RoleViewer).Get("/jobs/FB-1"), http.StatusOK), "#answer", 0)

	version := doc.Find("#answer [name=version]").AttrOr("value", "")
	handlertest.Page(t, d.Hx("/jobs/FB-1", "/jobs/FB-1/answer", url.Values{"answer": {" "}, "version": {version}}), http.StatusUnprocessableEntity)
	doc = handlertest.Page(t, d.Hx("/jobs/FB-1", "/jobs/FB-1/answer", url.Values{"answer": {"48 hours."}, "version": {version}}), http.StatusOK)
	handlertest.WantText(t, doc, ".toastx", "FB-1 got its answer")
	handlertest.WantText(t, doc, "#given-answer", "48 hours.")
	handlertest.WantCount(t, doc, "#answer", 0)
	handlertest.Page(t, d.Hx("/jobs/FB-1", "/jobs/FB-1/answer", url.Values{"answer": {"24."}}), http.StatusConflict)

	next := d.Claim(agent)
	if next.Question != "24 hours\nor 48?" || next.Answer != "48 hours." {
		t.Errorf("the next attempt gets %q and %q", next.Question, next.Answer)
	}
	doc = handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantCount(t, doc, "#question", 0)
	handlertest.WantText(t, doc, "#talk-1-1", "Answered by Mara Ilić")
	handlertest.WantCount(t, doc, "#talk-2-0", 0)
}

// Approved work that could not be merged goes back to review, with the reason.
func TestMergeFailedOnTheJobPage(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	j := d.HandIn(d.Agent("claude-1"), "Alpha", report.Completion{Commit: "9be04d1"})
	if _, err := d.Dispatch.Act(t.Context(), d.Owner, j.Key, actions.Action{Verb: jobs.ByApprove}); err != nil {
		t.Fatal(err)
	}
	doc := handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantCount(t, doc, "#dlg-merge_fail textarea[required]", 1)
	if commit := doc.Find("#commit-merge").AttrOr("value", ""); commit != "9be04d1" {
		t.Errorf("the dialog of the merge proposes %q", commit)
	}
	handlertest.Page(t, d.Hx("/jobs/FB-1", "/jobs/FB-1/merge_fail", url.Values{"reason": {""}}), http.StatusUnprocessableEntity)
	handlertest.Page(t, d.Hx("/jobs/FB-1", "/jobs/FB-1/merge_fail", url.Values{"reason": {"conflicts"}}), http.StatusOK)
	if now := d.Now(j); now.Status != jobs.InReview {
		t.Errorf("FB-1 is %s", now.Status)
	}
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK), "#talk-1-0", "conflicts")
}
