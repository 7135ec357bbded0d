package dispatch_test

import (
	"testing"

	"fleetboard/db/dbtest"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/jobs"
)

// A lease that is renewed while the reaper waits for its job is left alone,
// although it had lapsed when the reaper looked.
func TestTheReaperLooksAgainBeforeItTakes(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	w.job("one")
	held := w.claim(agent)
	w.expire(held)
	conn := dbtest.Owner(t, w.db)
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
		n, err := w.dispatch.Reap(w.ctx)
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
	if now := w.want(held, jobs.Assigned); now.LostCount != 0 {
		t.Errorf("%d losses", now.LostCount)
	}
	w.consistent()
}

// A checkpoint that is stored while the reaper waits for the lease is the one that
// the next attempt is given.
func TestTheLastCheckpointCounts(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	w.job("one")
	held := w.claim(agent)
	if _, err := w.dispatch.Progress(w.ctx, agent, ref(held), dispatch.Progress{Checkpoint: []byte(`{"at": 1}`)}); err != nil {
		t.Fatal(err)
	}
	w.expire(held)
	holder, err := dbtest.Owner(t, w.db).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), `UPDATE job_lease SET checkpoint = '{"at": 2}'`); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if n, err := w.dispatch.Reap(w.ctx); n != 1 || err != nil {
			t.Errorf("reap = %d, %v", n, err)
		}
	}()
	w.underWay(holder, 1, []chan struct{}{done})
	if err := holder.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-done
	if again := w.claim(agent); string(again.Checkpoint) != `{"at": 2}` {
		t.Errorf("the next attempt has %s", again.Checkpoint)
	}
	w.consistent()
}
