package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
)

// The job's page shows what each attempt used, and all of them; before anything was
// used it says nothing about it.
func TestUsageOnTheJobsPage(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent, j := d.Working()
	first := lease.Ref{Job: j.Key, Epoch: j.Epoch}
	for _, path := range []string{"/jobs/FB-1", "/jobs/FB-1/attempts"} {
		doc := handlertest.Page(t, d.Get(path), http.StatusOK)
		for _, word := range []string{"Tokens", "Cost", "priced"} {
			if text := doc.Find("#attempts, #attempt-1").Text(); strings.Contains(text, word) {
				t.Errorf("%s: nothing was used, and the page says: %s", path, text)
			}
		}
	}
	d.Use(agent, first, "m-1", "0.837", 1_234_567)
	doc := handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, "#attempts tr#attempt-1", "1,234,567 in, 1,234 out$0.84")
	handlertest.WantText(t, doc, "#attempts td[title]", "1,234,567 in")
	if title := doc.Find("#attempt-1 td.num[title]").AttrOr("title", ""); title != "50,000 read from the cache" {
		t.Errorf("the tokens' title is %q", title)
	}
	handlertest.WantCount(t, doc, "#attempts-used", 0)
	handlertest.WantCount(t, doc, ".side a[href='/usage?job=FB-1&model=sonnet'], aside a[href='/usage?job=FB-1&model=sonnet']", 1)

	if _, err := d.OtherProcess.Release(t.Context(), agent, first, report.Release{Reason: "tired"}); err != nil {
		t.Fatal(err)
	}
	got, err := d.OtherProcess.Claim(t.Context(), agent, claim.Request{})
	if err != nil || len(got.Jobs) != 1 {
		t.Fatal(got, err)
	}
	second := lease.Ref{Job: j.Key, Epoch: got.Jobs[0].Epoch}
	doc = handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, "#attempts tr#attempt-1", "$0.84")
	handlertest.WantText(t, doc, "#attempts-used", "All attempts1,234,567 in, 1,234 out$0.84")
	d.Use(agent, second, "m-2", "", 1)
	doc = handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, "#attempts tr#attempt-2", "1 in, 1,234 outunpriced")
	handlertest.WantText(t, doc, "#attempts-used", "1,234,568 in, 2,468 out$0.84 + unpriced")
	d.Use(agent, second, "m-3", "0.10", 0)
	doc = handlertest.Page(t, d.Get("/jobs/FB-1/attempts"), http.StatusOK)
	handlertest.WantText(t, doc, "#attempt-1", "Tokens1,234,567 in, 1,234 out 50,000 read from the cache Cost$0.84")
	handlertest.WantText(t, doc, "#attempt-2", "Tokens1 in, 2,468 out 100,000 read from the cache Cost$0.10 + unpriced")
}
