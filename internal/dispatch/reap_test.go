package dispatch_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// A lease that is renewed while the reaper waits for its job is left alone,
// although it had lapsed when the reaper looked.
func TestTheReaperLooksAgainBeforeItTakes(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	w.Expire(held)
	conn := dbtest.Owner(t, w.DB)
	holder, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), `SELECT 1 FROM job FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var reaped int
	go func() {
		defer close(done)
		n, err := w.Dispatch.Reap(w.Ctx)
		if reaped = n; err != nil {
			t.Errorf("reap: %v", err)
		}
	}()
	w.underWay(holder, 1, []chan struct{}{done})
	if _, err := holder.Exec(t.Context(), `UPDATE job_lease SET expires_at = clock_timestamp() + interval '1 hour'`); err != nil {
		t.Fatal(err)
	}
	if err := holder.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-done
	if reaped != 0 {
		t.Errorf("%d leases were taken back; want none", reaped)
	}
	if now := w.Want(held, jobs.Assigned); now.LostCount != 0 {
		t.Errorf("%d losses", now.LostCount)
	}
	w.Consistent()
}

// A checkpoint that is stored while the reaper waits for the lease is the one that
// the next attempt is given.
func TestTheLastCheckpointCounts(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	if _, err := w.Dispatch.Progress(w.Ctx, agent, ref(held), report.Progress{Checkpoint: []byte(`{"at": 1}`)}); err != nil {
		t.Fatal(err)
	}
	w.Expire(held)
	holder, err := dbtest.Owner(t, w.DB).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), `UPDATE job_lease SET checkpoint = '{"at": 2}'`); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if n, err := w.Dispatch.Reap(w.Ctx); n != 1 || err != nil {
			t.Errorf("reap = %d, %v", n, err)
		}
	}()
	w.underWay(holder, 1, []chan struct{}{done})
	if err := holder.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-done
	if again := w.Claim(agent); string(again.Checkpoint) != `{"at": 2}` {
		t.Errorf("the next attempt has %s", again.Checkpoint)
	}
	w.Consistent()
}
