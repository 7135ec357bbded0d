package search_test

import (
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/e2e/jobstest"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// The search finds messages and jobs, and the lines of a job's log, and says where each is.
func TestTheWorkspaceIsSearched(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	ada := d.Agent("ada")
	d.Job("Drain a factory", func(n *jobs.New) { n.Body = "The needle <b>is</b> here" })
	d.Job("TestNeedles")
	_, err := d.Bus.Publish(t.Context(), ada, bus.Draft{Type: "custom.note", To: bus.Address{Kind: bus.ToAgent, Name: "ada"}, Job: "FB-1",
		Payload: []byte(`{"text": "a needle"}`)})
	if err != nil {
		t.Fatal(err)
	}
	dbfactory.Exec(t, d.DB, `INSERT INTO job_log (workspace_id, job_id, epoch, agent, level, message)
		SELECT workspace_id, id, 1, 'ada', 'INFO', 'found the Needle' FROM job WHERE key = 'FB-1'`)
	dbfactory.Exec(t, d.DB, `INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory, ended_at, outcome)
		SELECT workspace_id, id, 1, 'ada', 'f', now(), 'completed' FROM job WHERE key = 'FB-1'`)
	jobstest.IndexTexts(t, d.DB)
	jobstest.IndexMessages(t, d.DB)
	jobstest.IndexLogs(t, d.DB, 1)
	for query, want := range map[string][3]int{
		"q=needle": {2, 1, 1}, "q=needle&in=jobs": {2, 0, 0}, "q=needle&in=messages": {0, 1, 0}, "q=needle&in=messages&from=bob": {0, 0, 0},
		"q=needle&in=messages&from=bob&from=ada&type=custom.note&type=custom.other&job=FB-1&job=FB-2": {0, 1, 0}, "q=needle&in=logs&job=FB-2&job=FB-1": {0, 0, 1},
		"q=needle&in=logs&job=fb-1": {0, 0, 1}, "q=needle&in=logs": {0, 0, 1}, "q=absent&in=logs": {0, 0, 0}, "q=needle&in=logs&job=FB-9": {0, 0, 0}, "q=%21": {0, 0, 0}, "": {0, 0, 0},
	} {
		doc := handlertest.Page(t, d.Get("/search?"+query), http.StatusOK)
		for i, kind := range []string{"jobs", "messages", "logs"} {
			if got := doc.Find("#found-" + kind + " li").Length(); got != want[i] {
				t.Errorf("%s finds %d %s, want %d", query, got, kind, want[i])
			}
		}
	}
	doc := handlertest.Page(t, d.Get("/search?q=needle&in=messages&from=ada&from=bob"), http.StatusOK)
	handlertest.WantCount(t, doc, ".chip-on a[href='/search?from=ada&in=messages&q=needle'], .chip-on a[href='/search?from=bob&in=messages&q=needle']", 2)
	handlertest.WantCount(t, doc, "form.sr-q input[type=hidden][name=from]", 2)
	doc = handlertest.Page(t, d.Get("/search?q=needle"), http.StatusOK)
	handlertest.WantText(t, doc, "#found-jobs li:first-child", "needle")
	handlertest.WantCount(t, doc, "#found-jobs mark, #found-messages mark", 2)
	handlertest.WantCount(t, doc, `#found-messages a[href^="/messages?"]`, 1)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/palette?q=needle"), http.StatusOK), `a[href^="/messages?"]`, "a needle")
	handlertest.WantCount(t, doc, `#found-logs a[href="/jobs/FB-1/log?q=Needle"] mark`, 1)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/palette?q=needle"), http.StatusOK), `a[href="/jobs/FB-1/log?q=Needle"]`, "found the Needle")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/search?q=needle&in=logs&job=FB-1"), http.StatusOK), "#found-logs mark", "Needle")
}
