package dispatch_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// entangle makes two jobs wait for each other, which no link would allow.
func (w *testWorkspace) entangle(a, b jobs.Job) {
	w.T.Helper()
	for _, e := range [][2]jobs.Job{{a, b}, {b, a}} {
		dbfactory.Exec(w.T, w.DB, `INSERT INTO job_dependency (workspace_id, job_id, depends_on_id, created_by) VALUES ($1, $2, $3, 'test')`,
			w.Workspace, e[0].ID, e[1].ID)
	}
}

// Jobs that wait for one another fail, each with the way back to it; who only
// waits for them, or is parked by a person, does not.
func TestACycleFailsItsJobs(t *testing.T) {
	w := newTestWorkspace(t)
	first := w.Job("first")
	a, b := w.Job("a", dependsOn(first.Key)), w.Job("b", dependsOn(first.Key))
	c := w.Job("c", dependsOn(a.Key))
	x, y := w.Job("x", dependsOn(first.Key)), w.Job("y", dependsOn(first.Key))
	w.sweeps("cycles", 0)
	w.entangle(a, b)
	w.entangle(x, y)
	w.Act(y, jobs.ByBlock)
	w.sweeps("cycles", 2)
	w.sweeps("cycles", 0)
	if now := w.Want(a, jobs.Failed); now.LastError != "dependency_cycle: "+a.Key+" waits for "+b.Key+" waits for "+a.Key {
		t.Errorf("a failed of %q", now.LastError)
	}
	w.Want(b, jobs.Failed)
	w.Want(c, jobs.Waiting)
	w.Want(x, jobs.Waiting)
	w.Consistent()
}

// A cycle that somebody takes apart while its jobs are about to fail fails none.
func TestACycleThatIsMendedFailsNobody(t *testing.T) {
	w := newTestWorkspace(t)
	first := w.Job("first")
	a, b := w.Job("a", dependsOn(first.Key)), w.Job("b", dependsOn(first.Key))
	w.entangle(a, b)
	holder, err := dbtest.Owner(t, w.DB).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), `SELECT 1 FROM job FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if n, err := w.Dispatch.FailCycles(w.Ctx); n != 0 || err != nil {
			t.Errorf("%d jobs failed, %v; want none", n, err)
		}
	}()
	w.underWay(holder, 1, []chan struct{}{done})
	if _, err := holder.Exec(t.Context(), `DELETE FROM job_dependency WHERE job_id = $1 AND depends_on_id = $2`, a.ID, b.ID); err != nil {
		t.Fatal(err)
	}
	if err := holder.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-done
	w.Want(a, jobs.Waiting)
	w.Want(b, jobs.Waiting)
}
