package job_test

import (
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// The cards and the pages of two jobs at work say that they touch the same files, as long as both are
// at work.
func TestCardsAndPagesNameWhoTouchesTheSameFiles(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	var held []jobs.Job
	var agents []tenancy.Principal
	touch := func(name string, files ...string) {
		agent := d.Agent(name)
		d.Job("Work of "+name, func(n *jobs.New) { n.Repo = "ledger-api" })
		j := d.Claim(agent)
		held, agents = append(held, j), append(agents, agent)
		if _, err := d.OtherProcess.Progress(t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch}, report.Progress{Files: files}); err != nil {
			t.Fatal(err)
		}
	}
	touch("claude-1", "go.mod", "internal/db/tx.go")
	board := handlertest.Page(t, d.Get(links.Board), http.StatusOK)
	handlertest.WantCount(t, board, ".job-why", 0)
	touch("claude-2", "internal/db/tx.go", "go.mod", "README.md")
	board = handlertest.Page(t, d.Get(links.Board), http.StatusOK)
	handlertest.WantText(t, board, `[data-card="FB-1"] .job-why`, "FB-2 touches go.mod too, and 1 file more")
	handlertest.WantText(t, board, `[data-card="FB-2"] .job-why`, "FB-1 touches go.mod too, and 1 file more")
	page := handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, page, "#why", "1 job at work touches the same files")
	handlertest.WantText(t, page, "#why", "FB-2, claude-2 · factory-of-claude-2: go.mod, internal/db/tx.go, since")
	handlertest.WantText(t, page, "#events", "collides")
	touch("claude-3", "README.md")
	handlertest.WantText(t, handlertest.Page(t, d.Get(links.Board), http.StatusOK), `[data-card="FB-2"] .job-why`, "FB-1 and FB-3 touch go.mod too")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/FB-2"), http.StatusOK), "#why", "2 jobs at work touch the same files")
	if _, err := d.OtherProcess.Complete(t.Context(), agents[1], lease.Ref{Job: "FB-2", Epoch: held[1].Epoch}, report.Completion{}); err != nil {
		t.Fatal(err)
	}
	handlertest.WantCount(t, handlertest.Page(t, d.Get(links.Board), http.StatusOK), ".job-why", 0)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK), "#why", 0)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK), "#events", "collision over")
}
