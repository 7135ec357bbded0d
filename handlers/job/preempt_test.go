package job_test

import (
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/views/links"
)

// The pages of both jobs say who is asked for whose seat, as long as somebody is.
func TestPagesNameWhoIsAskedForASeat(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	if _, err := d.OtherProcess.ChangeDispatch(t.Context(), d.Owner, setting.Change{PreemptGap: new(4)}); err != nil {
		t.Fatal(err)
	}
	d.Job("low")
	ada := d.Agent("ada", func(r *fleet.Registration) { r.MaxConcurrentJobs, r.Factory.Seats = 1, 1 })
	low := d.Claim(ada)
	at := lease.Ref{Job: low.Key, Epoch: low.Epoch}
	if _, err := d.OtherProcess.Progress(t.Context(), ada, at, report.Progress{Checkpoint: []byte(`{"at": 1}`)}); err != nil {
		t.Fatal(err)
	}
	d.Job("urgent", func(n *jobs.New) { n.Priority = new(9) })
	if _, err := d.OtherProcess.Preempt(t.Context()); err != nil {
		t.Fatal(err)
	}
	victim := handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, victim, "#why", "FB-1 is to give its seat to a more urgent job")
	handlertest.WantText(t, victim, "#why", "Its agent was asked at")
	handlertest.WantText(t, victim, "#why", "to give the seat to FB-2, which is more urgent")
	handlertest.WantCount(t, victim, "#why a[href='/jobs/FB-2']", 1)
	handlertest.WantText(t, victim, "#events", "seat asked")
	urgent := handlertest.Page(t, d.Get("/jobs/FB-2"), http.StatusOK)
	handlertest.WantText(t, urgent, "#why", "ada on factory-of-ada was asked at")
	handlertest.WantText(t, urgent, "#why", "to give it the seat of FB-1")
	handlertest.WantText(t, urgent, "#events", "of FB-1")
	board := handlertest.Page(t, d.Get(links.Board), http.StatusOK)
	handlertest.WantText(t, board, `[data-card="FB-1"]`, "Asked to give its seat to a more urgent job")

	if _, err := d.OtherProcess.Release(t.Context(), ada, at, report.Release{}); err != nil {
		t.Fatal(err)
	}
	victim = handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, victim, "#events", "gave its seat")
	handlertest.WantCount(t, victim, "#why a[href='/jobs/FB-2']", 0)
}
