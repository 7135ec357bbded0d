package api_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
)

// The API answers for a job that is said to run and whose lease is not there, and gives it
// back.
func TestAJobWithoutItsLease(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	w.job("One")
	ref := w.claim(ada)
	w.as(ada, "POST", "/fleet/start", ref).want(200)
	dbfactory.Exec(t, w.db, `DELETE FROM job_lease`)
	path := "/jobs/" + ref["job"].(string)
	for _, of := range []string{path, path + "/explanation", path + "/attempts", path + "/events", path + "/logs", path + "/estimate", "/jobs", "/agents", "/stats"} {
		if a := w.as(w.owner, "GET", of, nil); a.status >= 500 {
			t.Errorf("%s: %s", of, a.raw)
		}
	}
	w.as(w.owner, "POST", "/coordinator/recover", nil).want(200)
	if a := w.as(w.owner, "POST", path+"/release", object{"reason": "lost"}).want(200); a.text("status") != "ready" {
		t.Error(a.raw)
	}
	w.claim(ada)
}
