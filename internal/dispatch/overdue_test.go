package dispatch_test

import (
	"testing"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/fault"
	"fleetboard/internal/jobs"
	"fleetboard/internal/jobs/attempts"
	"fleetboard/internal/tenancy"
)

// sweeps runs a loop's work and asserts how many jobs it changed.
func (w *world) sweeps(name string, want int) {
	w.t.Helper()
	do := map[string]func() (int, error){
		"warn":     func() (int, error) { return w.dispatch.Warn(w.ctx) },
		"time out": func() (int, error) { return w.dispatch.TimeOut(w.ctx) },
		"reap":     func() (int, error) { return w.dispatch.Reap(w.ctx) },
		"promote":  func() (int, error) { return w.dispatch.Promote(w.ctx) },
		"cycles":   func() (int, error) { return w.dispatch.FailCycles(w.ctx) },
	}[name]
	if n, err := do(); n != want || err != nil {
		w.t.Fatalf("%s = %d, %v; want %d", name, n, err, want)
	}
}

// told asserts what an agent is told of its lease by each call that keeps it.
func (w *world) told(agent tenancy.Principal, held jobs.Job, want string) {
	w.t.Helper()
	progress, err := w.dispatch.Progress(w.ctx, agent, ref(held), dispatch.Progress{})
	if err != nil || progress.Directive != want {
		w.t.Errorf("progress says %s, %v; want %s", progress.Directive, err, want)
	}
	renewed, err := w.dispatch.Renew(w.ctx, agent, ref(held), 0)
	if err != nil || renewed.Directive != want {
		w.t.Errorf("renew says %s, %v; want %s", renewed.Directive, err, want)
	}
	beat, err := w.dispatch.Heartbeat(w.ctx, agent, dispatch.Heartbeat{Agent: agent.Name, BootID: agent.Boot})
	if err != nil || len(beat.Leases) != 1 || beat.Leases[0].Directive != want {
		w.t.Errorf("heartbeat says %+v, %v; want %s", beat.Leases, err, want)
	}
}

// A holder that goes 30 minutes over the estimate is warned, and one that makes no
// progress in 10 minutes after that loses the job, which comes back one step more
// urgent and counts as a failure.
func TestALongJobIsWarnedAndTimedOut(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	w.job("one", estimate(20), priority(5), retries(1, 300))
	held := w.claim(agent)
	w.passed(held, 49)
	w.sweeps("warn", 0)
	w.passed(held, 1)
	w.sweeps("time out", 0)
	w.sweeps("warn", 1)
	w.sweeps("warn", 0)
	w.told(agent, held, dispatch.Warn)
	w.passed(held, 9)
	if _, err := w.dispatch.Progress(w.ctx, agent, ref(held), dispatch.Progress{Percent: number(60), Checkpoint: []byte(`{"at": 1}`)}); err != nil {
		t.Fatal(err)
	}
	w.passed(held, 9) // since the progress; 18 since the warning
	w.sweeps("time out", 0)
	w.passed(held, 1)
	w.sweeps("time out", 1)
	w.sweeps("time out", 0)
	back := w.want(held, jobs.Ready)
	if back.Priority != 6 || back.FailureCount != 1 || back.LostCount != 0 || string(back.Checkpoint) != `{"at": 1}` {
		t.Errorf("it came back with priority %d, %d failures, %d losses, checkpoint %s", back.Priority, back.FailureCount, back.LostCount, back.Checkpoint)
	}
	if _, err := w.dispatch.Progress(w.ctx, agent, ref(held), dispatch.Progress{}); !fault.Is(err, fault.LeaseExpired) {
		t.Errorf("progress after the time-out: %v", err)
	}
	attempts, err := attempts.NewService(w.db).Attempts(w.ctx, w.owner, held.Key)
	if err != nil || attempts[0].Outcome != "timeout" {
		t.Errorf("attempts %+v, %v", attempts, err)
	}
	again := w.claim(agent)
	w.passed(again, 50)
	w.sweeps("warn", 1)
	w.passed(again, 10)
	w.sweeps("time out", 1)
	w.want(held, jobs.Failed) // max_retries is 1
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM event WHERE type = 'job.warned' AND epoch IN (1, 2)`); n != 2 {
		t.Errorf("%d events of a warning; want 2", n)
	}
	w.consistent()
}

// A job without an estimate is never warned.
func TestAJobWithoutAnEstimateTakesItsTime(t *testing.T) {
	w := newWorld(t)
	w.job("one")
	held := w.claim(w.agent("claude-1"))
	w.passed(held, 1_000_000)
	w.sweeps("warn", 0)
	w.want(held, jobs.Assigned)
}

// The most pressing directive is the one that is told: cancel before pause before
// warn before drain. A warning is never carried out by the reaper.
func TestDirectivesHaveAnOrder(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	w.job("one", estimate(20))
	held := w.claim(agent)
	w.told(agent, held, dispatch.Continue)
	if _, err := w.fleet.SetDraining(w.ctx, w.owner, agent.Factory, true); err != nil {
		t.Fatal(err)
	}
	w.told(agent, held, dispatch.Drain)
	w.passed(held, 50)
	w.sweeps("warn", 1)
	w.told(agent, held, dispatch.Warn)
	if grace := w.get(held).Lease.GraceEndsAt; grace != nil {
		t.Errorf("a warning has a grace until %s", grace)
	}
	w.act(held, jobs.ByPause)
	w.told(agent, held, dispatch.Pause)
	w.act(held, jobs.ByCancel)
	w.told(agent, held, dispatch.Cancel)
	w.act(held, jobs.ByPause)
	w.told(agent, held, dispatch.Cancel)
	w.passed(held, 60)
	w.sweeps("warn", 0)
	w.sweeps("time out", 1)
	w.want(held, jobs.Aborted) // the cancel goes before the time-out
	w.consistent()
}

// A lease that is asked to stop is not warned as well.
func TestAWarningDoesNotReplaceADirective(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	w.job("one", estimate(20))
	held := w.claim(agent)
	w.act(held, jobs.ByPause)
	w.passed(held, 60)
	w.sweeps("warn", 0)
	w.told(agent, held, dispatch.Pause)
}
