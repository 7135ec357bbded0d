package claim_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// From its floor on a lane gives its jobs in their order, and from the top where
// nothing is left there: a floor hides no job from who requests any.
func TestClaimsGoOnFromTheFloor(t *testing.T) {
	w := newTestWorkspace(t)
	urgent := func(p int) func(*jobs.New) { return func(n *jobs.New) { n.Priority = &p } }
	w.Job("urgent", urgent(9))
	from := w.Job("from here", urgent(5))
	w.Job("beside it", urgent(5))
	w.Job("later", urgent(1))
	agent := w.Agent("claude-1")
	w.Dispatch.LookFrom(w.Workspace, from)
	for _, want := range []string{"from here", "beside it", "later", "urgent"} {
		if got := w.Claim(agent); got.Title != want {
			t.Errorf("%q is given; want %q", got.Title, want)
		}
	}
}

// A claim of several gets those above the floor too, after those below it.
func TestAClaimOfManyIsNotCutAtTheFloor(t *testing.T) {
	w := newTestWorkspace(t)
	nine := 9
	w.Job("urgent", func(n *jobs.New) { n.Priority = &nine })
	w.Dispatch.LookFrom(w.Workspace, w.Job("from here"))
	got, err := w.Dispatch.Claim(w.Ctx, w.Agent("claude-1"), claim.Request{Max: 5})
	if err != nil || len(got.Jobs) != 2 {
		t.Errorf("%d jobs, %v; want both", len(got.Jobs), err)
	}
}

// Where the way to the first job is short no floor is remembered, however many
// claims there are; where rows lie before it that cannot be removed, it is.
func TestAFloorComesOfRowsThatCannotBeRemoved(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	for range 120 {
		w.Job("job")
	}
	var lane int64
	for range 80 {
		lane = w.Claim(agent).LaneID
	}
	if w.Dispatch.Floors(w.Workspace, lane) != 0 {
		t.Error("a floor came of many short ways")
	}
	w.holdSnapshot()
	dbfactory.Exec(t, w.DB, `INSERT INTO job_ready (workspace_id, lane_id, priority, ready_at, place, job_id)
		SELECT $1, $2, 100, now(), now(), gen_random_uuid() FROM generate_series(1, 20000)`, w.Workspace, lane)
	dbfactory.Exec(t, w.DB, `DELETE FROM job_ready WHERE priority = 100`)
	w.Claim(agent)
	if w.Dispatch.Floors(w.Workspace, lane) != 1 {
		t.Error("no floor came of a long way")
	}
}

// holdSnapshot keeps all rows that are deleted from now on from being removed.
func (w *testWorkspace) holdSnapshot() {
	w.T.Helper()
	holder := dbtest.Owner(w.T, w.DB)
	if _, err := holder.Exec(w.Ctx, `BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM job`); err != nil {
		w.T.Fatal(err)
	}
}
