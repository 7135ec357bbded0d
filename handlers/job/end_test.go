package job_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
)

// The page of a job that is handed in or over begins with what came of it: the figures, the result
// and its diff stand before the task, and what was to be expected is gone.
func TestThePageOfAJobBeginsWithItsEnd(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Open")
	open := handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, open, ".jobside", "Can run on")
	handlertest.WantText(t, open, ".jobside", "Expected")
	handlertest.WantCount(t, open, ".strip, #changes", 0)
	d.Claim(d.Agent("claude-1")) // so that the next one is not taken for it

	diff, err := json.Marshal(map[string]string{"diff": "diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1 +1,2 @@\n-old\n+new\n+newer\n"})
	if err != nil {
		t.Fatal(err)
	}
	d.HandIn(d.Agent("claude-2"), "Handed in", report.Completion{Commit: "9be04d1f00", Branch: "fleet/FB-2", Summary: "It is new.", Result: diff})
	for _, then := range []string{"", "approve", "merge"} {
		if then != "" {
			d.Decide(t, "FB-2", then, url.Values{"commit": {"9be04d1f00"}})
		}
		doc := handlertest.Page(t, d.Get("/jobs/FB-2"), http.StatusOK)
		handlertest.WantText(t, doc, ".strip", "Changed+2 −1 1 file")
		handlertest.WantText(t, doc, ".strip", "Took")
		handlertest.WantText(t, doc, ".strip", "Cost$0.00")
		handlertest.WantText(t, doc, ".strip", map[string]string{"merge": "Merged as9be04d1"}[then])
		handlertest.WantText(t, doc, "#changes .d-a", "newer")
		for _, gone := range []string{"Can run on", "Expected"} {
			if strings.Contains(doc.Find(".jobside").Text(), gone) {
				t.Errorf("after %q the page still says %q", then, gone)
			}
		}
		if first := doc.Find(".jobmain > *").First().AttrOr("id", ""); first != "result" {
			t.Errorf("after %q the page begins with %q", then, first)
		}
		handlertest.WantCount(t, doc, "#result", 1)
	}
}
