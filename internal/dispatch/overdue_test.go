package dispatch_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// sweeps runs a loop's work and asserts how many jobs it changed.
func (w *testWorkspace) sweeps(name string, want int) {
	w.T.Helper()
	do := map[string]func() (int, error){
		"warn":     func() (int, error) { return w.Dispatch.Warn(w.Ctx) },
		"time out": func() (int, error) { return w.Dispatch.TimeOut(w.Ctx) },
		"reap":     func() (int, error) { return w.Dispatch.Reap(w.Ctx) },
		"promote":  func() (int, error) { return w.Dispatch.Promote(w.Ctx) },
		"cycles":   func() (int, error) { return w.Dispatch.FailCycles(w.Ctx) },
	}[name]
	if n, err := do(); n != want || err != nil {
		w.T.Fatalf("%s = %d, %v; want %d", name, n, err, want)
	}
}

// told asserts the directive that an agent gets for its lease from each call that keeps it.
func (w *testWorkspace) told(agent tenancy.Principal, held jobs.Job, want string) {
	w.T.Helper()
	progress, err := w.Dispatch.Progress(w.Ctx, agent, ref(held), report.Progress{})
	if err != nil || progress.Directive != want {
		w.T.Errorf("progress says %s, %v; want %s", progress.Directive, err, want)
	}
	renewed, err := w.Dispatch.Renew(w.Ctx, agent, ref(held), 0)
	if err != nil || renewed.Directive != want {
		w.T.Errorf("renew says %s, %v; want %s", renewed.Directive, err, want)
	}
	beat, err := w.Dispatch.Heartbeat(w.Ctx, agent, report.Heartbeat{Agent: agent.Name, BootID: agent.Boot})
	if err != nil || len(beat.Leases) != 1 || beat.Leases[0].Directive != want {
		w.T.Errorf("heartbeat says %+v, %v; want %s", beat.Leases, err, want)
	}
}

// A holder that goes 30 minutes over the estimate is warned, and one that makes no
// progress in 10 minutes after that loses the job, which comes back one step more
// urgent and counts as a failure.
func TestALongJobIsWarnedAndTimedOut(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one", estimate(20), priority(5), retries(1, 300))
	held := w.Claim(agent)
	w.Passed(held, 49)
	w.sweeps("warn", 0)
	w.Passed(held, 1)
	w.sweeps("time out", 0)
	w.sweeps("warn", 1)
	w.sweeps("warn", 0)
	w.told(agent, held, lease.Warn)
	w.Passed(held, 9)
	if _, err := w.Dispatch.Progress(w.Ctx, agent, ref(held), report.Progress{Percent: number(60), Checkpoint: []byte(`{"at": 1}`)}); err != nil {
		t.Fatal(err)
	}
	w.Passed(held, 9) // since the progress; 18 since the warning
	w.sweeps("time out", 0)
	w.Passed(held, 1)
	w.sweeps("time out", 1)
	w.sweeps("time out", 0)
	back := w.Want(held, jobs.Ready)
	if back.Priority != 6 || back.FailureCount != 1 || back.LostCount != 0 || string(back.Checkpoint) != `{"at": 1}` {
		t.Errorf("it came back with priority %d, %d failures, %d losses, checkpoint %s", back.Priority, back.FailureCount, back.LostCount, back.Checkpoint)
	}
	if _, err := w.Dispatch.Progress(w.Ctx, agent, ref(held), report.Progress{}); !fault.Is(err, fault.LeaseExpired) {
		t.Errorf("progress after the time-out: %v", err)
	}
	attempts, err := attempts.NewService(w.DB).Attempts(w.Ctx, w.Owner, held.Key)
	if err != nil || attempts[0].Outcome != "timeout" {
		t.Errorf("attempts %+v, %v", attempts, err)
	}
	again := w.Claim(agent)
	w.Passed(again, 50)
	w.sweeps("warn", 1)
	w.Passed(again, 10)
	w.sweeps("time out", 1)
	w.Want(held, jobs.Failed) // max_retries is 1
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM event WHERE type = 'job.warned' AND epoch IN (1, 2)`); n != 2 {
		t.Errorf("%d events of a warning; want 2", n)
	}
	w.Consistent()
}

// A job without an estimate is never warned.
func TestAJobWithoutAnEstimateTakesItsTime(t *testing.T) {
	w := newTestWorkspace(t)
	w.Job("one")
	held := w.Claim(w.Agent("claude-1"))
	w.Passed(held, 1_000_000)
	w.sweeps("warn", 0)
	w.Want(held, jobs.Assigned)
}

// The most pressing directive is the one that is returned: cancel before pause before
// warn before drain. A warning is never carried out by the reaper.
func TestDirectivesHaveAnOrder(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one", estimate(20))
	held := w.Claim(agent)
	w.told(agent, held, lease.Continue)
	if _, err := w.Fleet.SetDraining(w.Ctx, w.Owner, agent.Factory, true); err != nil {
		t.Fatal(err)
	}
	w.told(agent, held, lease.Drain)
	w.Passed(held, 50)
	w.sweeps("warn", 1)
	w.told(agent, held, lease.Warn)
	if grace := w.Get(held).Lease.GraceEndsAt; grace != nil {
		t.Errorf("a warning has a grace until %s", grace)
	}
	w.Act(held, jobs.ByPause)
	w.told(agent, held, lease.Pause)
	w.Act(held, jobs.ByCancel)
	w.told(agent, held, lease.Cancel)
	w.Passed(held, 60)
	w.sweeps("warn", 0)
	w.sweeps("time out", 1)
	w.Want(held, jobs.Aborted) // the cancel goes before the time-out
	w.Consistent()
}

// A lease that is directed to stop is not warned as well.
func TestAWarningDoesNotReplaceADirective(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one", estimate(20))
	held := w.Claim(agent)
	w.Act(held, jobs.ByPause)
	w.Passed(held, 60)
	w.sweeps("warn", 0)
	w.told(agent, held, lease.Pause)
}
