package job_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// A job that is said to run and whose lease is not there has its pages like any other, and
// is paused there.
func TestAJobWithoutItsLease(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent, j := d.Working()
	if _, err := d.Dispatch.Start(t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch}, nil); err != nil {
		t.Fatal(err)
	}
	dbfactory.Exec(t, d.DB, `DELETE FROM job_lease`)
	for _, path := range []string{"/jobs/" + j.Key, "/jobs/" + j.Key + "/edit", "/board", "/agents", "/jobs/" + j.Key + "/log"} {
		if a := d.Get(path); a.StatusCode != http.StatusOK {
			t.Errorf("%s is answered %d", path, a.StatusCode)
		}
	}
	if a := d.Post("/jobs/"+j.Key+"/pause", url.Values{}); a.StatusCode >= http.StatusBadRequest {
		t.Errorf("to pause it is answered %d: %s", a.StatusCode, a.Body)
	}
	if now := d.Now(j); now.Status != jobs.Paused {
		t.Errorf("it is %s", now.Status)
	}
}
