package dispatch_test

import (
	"testing"

	"fleetboard/db/dbfactory"
	"fleetboard/db/dbtest"
	"fleetboard/internal/jobs"
)

// entangle makes two jobs wait for each other, which no link would allow.
func (w *world) entangle(a, b jobs.Job) {
	w.t.Helper()
	for _, e := range [][2]jobs.Job{{a, b}, {b, a}} {
		dbfactory.Exec(w.t, w.db, `INSERT INTO job_dependency (workspace_id, job_id, depends_on_id, created_by) VALUES ($1, $2, $3, 'test')`,
			w.workspace, e[0].ID, e[1].ID)
	}
}

// Jobs that wait for one another fail, each with the way back to it; who only
// waits for them, or is parked by a person, does not.
func TestACycleFailsItsJobs(t *testing.T) {
	w := newWorld(t)
	first := w.job("first")
	a, b := w.job("a", dependsOn(first.Key)), w.job("b", dependsOn(first.Key))
	c := w.job("c", dependsOn(a.Key))
	x, y := w.job("x", dependsOn(first.Key)), w.job("y", dependsOn(first.Key))
	w.sweeps("cycles", 0)
	w.entangle(a, b)
	w.entangle(x, y)
	w.act(y, jobs.ByBlock)
	w.sweeps("cycles", 2)
	w.sweeps("cycles", 0)
	if now := w.want(a, jobs.Failed); now.LastError != "dependency_cycle: "+a.Key+" waits for "+b.Key+" waits for "+a.Key {
		t.Errorf("a failed of %q", now.LastError)
	}
	w.want(b, jobs.Failed)
	w.want(c, jobs.Waiting)
	w.want(x, jobs.Waiting)
	w.consistent()
}

// A cycle that somebody takes apart while its jobs are about to fail fails none.
func TestACycleThatIsMendedFailsNobody(t *testing.T) {
	w := newWorld(t)
	first := w.job("first")
	a, b := w.job("a", dependsOn(first.Key)), w.job("b", dependsOn(first.Key))
	w.entangle(a, b)
	holder, err := dbtest.Owner(t, w.db).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), `SELECT 1 FROM job FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if n, err := w.dispatch.FailCycles(w.ctx); n != 0 || err != nil {
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
	w.want(a, jobs.Waiting)
	w.want(b, jobs.Waiting)
}
