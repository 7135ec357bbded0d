package job_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// A toast offers the undo of what was done, as a plain form too; what moved on since is
// not undone, and the toast says who moved it.
func TestUndoIsOfferedAndRefusedAfterAClaim(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	j := d.HandIn(d.Agent("claude-1"), "Alpha", report.Completion{})
	doc := handlertest.Page(t, d.Hx("/board", "/jobs/FB-1/reject", url.Values{"reason": {"no"}, "version": {version(j)}}), http.StatusOK)
	now := d.Now(j)
	form := `form[action="/jobs/FB-1/undo"]`
	handlertest.WantCount(t, doc, form+` [name=version][value="`+version(now)+`"]`, 1)
	undo := url.Values{"version": {version(now)}}
	handlertest.WantText(t, handlertest.Page(t, d.Hx("/board", "/jobs/FB-1/undo", undo), http.StatusOK), "[data-toast]", "FB-1 is in review again")
	if back := d.Now(j); back.Status != jobs.InReview || back.Feedback != "" {
		t.Errorf("FB-1 is %s, feedback %q", back.Status, back.Feedback)
	}

	d.Post("/jobs/FB-1/reject", url.Values{"reason": {"no"}})
	doc = handlertest.Page(t, d.Get("/board"), http.StatusOK)
	version := doc.Find(form+" [name=version]").AttrOr("value", "")
	handlertest.WantCount(t, doc, form+" [type=submit]", 1)
	d.Claim(d.Agent("claude-2"))
	doc = handlertest.Page(t, d.Hx("/board", "/jobs/FB-1/undo", url.Values{"version": {version}}), http.StatusConflict)
	handlertest.WantText(t, doc, "[data-toast]", "FB-1 has moved on")
	handlertest.WantText(t, doc, "[data-toast]", "claude-2 claimed it. Nothing was undone.")
	handlertest.Read(t, d.Hx("/board", "/jobs/FB-1/undo", url.Values{"version": {"x"}}), http.StatusBadRequest)
}
