package handlers

import (
	"net/http"
	"net/url"
	"testing"

	"fleetboard/internal/dispatch"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// An agent's question has a form for its answer; both reach the next attempt and
// stay with the attempt that asked.
func TestAQuestionIsAnsweredOnce(t *testing.T) {
	d := newDesk(t)
	d.job("Alpha")
	agent := d.agent("claude-1")
	j := d.claim(agent)
	if _, err := d.elsewhere.Ask(t.Context(), agent, dispatch.Ref{Job: j.Key, Epoch: j.Epoch}, "24 hours\nor 48?", nil); err != nil {
		t.Fatal(err)
	}
	doc := page(t, d.get("/jobs/FB-1"), http.StatusOK)
	wantText(t, doc, "#question", "claude-1 asks")
	wantText(t, doc, "#question", "24 hours or 48?")
	wantCount(t, doc, "#answer textarea[required]", 1)
	wantText(t, doc, "#talk-1-0", "Asked by claude-1")
	wantCount(t, page(t, d.as(tenancy.RoleViewer).get("/jobs/FB-1"), http.StatusOK), "#answer", 0)

	version := doc.Find("#answer [name=version]").AttrOr("value", "")
	page(t, d.hx("/jobs/FB-1", "/jobs/FB-1/answer", url.Values{"answer": {" "}, "version": {version}}), http.StatusUnprocessableEntity)
	doc = page(t, d.hx("/jobs/FB-1", "/jobs/FB-1/answer", url.Values{"answer": {"48 hours."}, "version": {version}}), http.StatusOK)
	wantText(t, doc, ".toastx", "FB-1 got its answer")
	wantText(t, doc, "#given-answer", "48 hours.")
	wantCount(t, doc, "#answer", 0)
	page(t, d.hx("/jobs/FB-1", "/jobs/FB-1/answer", url.Values{"answer": {"24."}}), http.StatusConflict)

	next := d.claim(agent)
	if next.Question != "24 hours\nor 48?" || next.Answer != "48 hours." {
		t.Errorf("the next attempt gets %q and %q", next.Question, next.Answer)
	}
	doc = page(t, d.get("/jobs/FB-1"), http.StatusOK)
	wantCount(t, doc, "#question", 0)
	wantText(t, doc, "#talk-1-1", "Answered by Mara Ilić")
	wantCount(t, doc, "#talk-2-0", 0)
}

// Approved work that could not be merged goes back to review, with the reason.
func TestMergeFailedOnTheJobPage(t *testing.T) {
	d := newDesk(t)
	j := d.handIn(d.agent("claude-1"), "Alpha", dispatch.Completion{Commit: "9be04d1"})
	if _, err := d.Dispatch.Act(t.Context(), d.owner, j.Key, dispatch.Action{Verb: jobs.ByApprove}); err != nil {
		t.Fatal(err)
	}
	doc := page(t, d.get("/jobs/FB-1"), http.StatusOK)
	wantCount(t, doc, "#dlg-merge_fail textarea[required]", 1)
	if commit := doc.Find("#commit-merge").AttrOr("value", ""); commit != "9be04d1" {
		t.Errorf("the dialog of the merge proposes %q", commit)
	}
	page(t, d.hx("/jobs/FB-1", "/jobs/FB-1/merge_fail", url.Values{"reason": {""}}), http.StatusUnprocessableEntity)
	page(t, d.hx("/jobs/FB-1", "/jobs/FB-1/merge_fail", url.Values{"reason": {"conflicts"}}), http.StatusOK)
	if now := d.now(j); now.Status != jobs.InReview {
		t.Errorf("FB-1 is %s", now.Status)
	}
	wantText(t, page(t, d.get("/jobs/FB-1"), http.StatusOK), "#talk-1-0", "conflicts")
}
