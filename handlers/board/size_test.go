package board_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// The card of a review says how much there is to look at; that of one which reports
// nothing says nothing.
func TestTheCardOfAReviewSaysItsSize(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("claude-1")
	d.HandIn(agent, "Large", report.Completion{Commit: "abc", Result: json.RawMessage(`{"files_changed": 3, "insertions": 1280, "deletions": 40}`)},
		func(n *jobs.New) { n.Acceptance = []string{"It builds", "It is fast"} })
	d.HandIn(agent, "Unknown", report.Completion{Commit: "def"})
	doc := handlertest.Page(t, d.Get("/board"), http.StatusOK)
	handlertest.WantText(t, doc, "#card-fb-1", "+1,280 −40, 3 files, 0 of 2 met")
	handlertest.WantCount(t, doc, "#card-fb-1 use[href='#i-eye']", 0) // the commit is named on its page
	handlertest.WantCount(t, doc, "#card-fb-2 use[href='#i-file-diff'], #card-fb-2 use[href='#i-list-checks']", 0)
}
