package dispatch_test

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// Jobs whose time has passed while they wait for another job stand in nobody's
// way, and wait for their time once that job is done.
func TestTimeAndDependencyTogether(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	first := w.Job("first", priority(10))
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	both := make([]jobs.New, 250)
	for i := range both {
		both[i] = jobs.New{Spec: jobs.Spec{Title: "both", DependsOn: []string{first.Key}, NotBefore: &past}}
	}
	if _, err := w.Jobs.Create(w.Ctx, w.Owner, nil, both...); err != nil {
		t.Fatal(err)
	}
	due := w.Job("due", func(n *jobs.New) { n.NotBefore = &future })
	later := w.Job("later", dependsOn(first.Key), func(n *jobs.New) { n.NotBefore = &future })
	dbfactory.Exec(t, w.DB, `UPDATE job SET not_before = clock_timestamp() WHERE id = $1`, due.ID)
	if n, err := w.Dispatch.Promote(w.Ctx); n != 1 || err != nil {
		t.Fatalf("promote = %d, %v; want the one whose time has come", n, err)
	}
	w.Want(due, jobs.Ready)
	held := w.Claim(agent)
	if _, err := w.Dispatch.Complete(w.Ctx, agent, ref(held), report.Completion{}); err != nil {
		t.Fatal(err)
	}
	for n := 1; n > 0; {
		var err error
		if n, err = w.Dispatch.SweepDependencies(w.Ctx); err != nil {
			t.Fatal(err)
		}
	}
	if now := w.Want(later, jobs.Waiting); now.WaitReason != jobs.WaitNotBefore {
		t.Errorf("it waits for %s; want its time", now.WaitReason)
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job WHERE status = 'waiting'`); n != 1 {
		t.Errorf("%d jobs wait; want 1", n)
	}
	w.Consistent()
}

// A job that is lost waits for the time that a person set while it was worked on.
func TestALossKeepsWhatAPersonDecided(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	future := time.Now().Add(time.Hour)
	if _, err := w.Jobs.Patch(w.Ctx, w.Owner, held.Key, jobs.Patch{Version: held.Version, Spec: jobs.Spec{NotBefore: &future},
		Set: []string{"not_before"}}); err != nil {
		t.Fatal(err)
	}
	w.Expire(held)
	if n, err := w.Dispatch.Reap(w.Ctx); n != 1 || err != nil {
		t.Fatalf("reap = %d, %v", n, err)
	}
	if now := w.Want(held, jobs.Waiting); now.WaitReason != jobs.WaitNotBefore || now.LostCount != 1 {
		t.Errorf("it waits for %q after %d losses", now.WaitReason, now.LostCount)
	}
}
