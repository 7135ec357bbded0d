package dispatch_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/recovery"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// When a whole fleet goes silent its jobs do not come back all at once: the first
// few do, the others over a time that grows with their number.
func TestAMassLossComesBackOverTime(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	many := make([]jobs.New, 120)
	for i := range many {
		many[i] = jobs.New{Spec: jobs.Spec{Title: fmt.Sprint(i)}}
	}
	if _, err := w.Jobs.Create(w.Ctx, w.Owner, nil, many...); err != nil {
		t.Fatal(err)
	}
	if got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Max: 100}); err != nil || len(got.Jobs) != 100 {
		t.Fatalf("claimed %d, %v", len(got.Jobs), err)
	}
	w.silence()
	if n, err := w.Dispatch.Reap(w.Ctx); n != 100 || err != nil {
		t.Fatalf("reap = %d, %v", n, err)
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job WHERE lost_count = 1 AND status = 'ready'`); n != 20 {
		t.Errorf("%d came back at once; want 20", n)
	}
	waits := func(condition string) int {
		return dbfactory.Int(t, w.DB, `SELECT count(*) FROM job WHERE lost_count = 1 AND wait_reason = 'retry_backoff' AND `+condition)
	}
	// 100 lost jobs come back within five seconds.
	if n := waits(`not_before > status_at AND not_before < status_at + interval '6 seconds'`); n != 80 {
		t.Errorf("%d wait for at most five seconds; want 80", n)
	}
	if early, late := waits(`not_before < status_at + interval '2 seconds'`), waits(`not_before > status_at + interval '3 seconds'`); early == 0 || late == 0 {
		t.Errorf("%d come back within two seconds, %d after more than three: they come together", early, late)
	}
	dbfactory.Exec(t, w.DB, `UPDATE job SET not_before = clock_timestamp() WHERE not_before IS NOT NULL`)
	w.sweeps("promote", 80)
	w.Consistent()
}

// However many leases lapse at once, one sweep takes them all back.
func TestASweepTakesBackAllThatLapsed(t *testing.T) {
	w := newTestWorkspace(t)
	many := make([]jobs.New, 250) // more than one batch
	for i := range many {
		many[i] = jobs.New{Spec: jobs.Spec{Title: fmt.Sprint(i)}}
	}
	if _, err := w.Jobs.Create(w.Ctx, w.Owner, nil, many...); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		if _, err := w.Dispatch.Claim(w.Ctx, w.Agent(fmt.Sprintf("claude-%d", n)), claim.Request{Max: 100}); err != nil {
			t.Fatal(err)
		}
	}
	held := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_lease`)
	w.silence()
	if n, err := w.Dispatch.Reap(w.Ctx); n != 250 || held != 250 || err != nil {
		t.Fatalf("reap = %d of %d, %v", n, held, err)
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job WHERE status = 'ready'`); n != 20 {
		t.Errorf("%d came back at once; want 20", n)
	}
	w.Consistent()
}

// The wake-ups of a sweep are one for each lane, not one for each job.
func TestASweepWakesOnce(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	heard := listen(w)
	for i := range 15 {
		w.Job(fmt.Sprint(i))
	}
	if got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Max: 15}); err != nil || len(got.Jobs) != 15 {
		t.Fatalf("claimed %d, %v", len(got.Jobs), err)
	}
	w.silence()
	before := heard.count()
	w.sweeps("reap", 15)
	if n := heard.count() - before; n != 1 {
		t.Errorf("%d wake-ups of the one lane; want 1", n)
	}
}

// A job that loses its holders more often than it may fails for good.
func TestAPoisonedJobFails(t *testing.T) {
	w := newTestWorkspace(t)
	w.Job("one", losses(2))
	for boot := range 3 {
		held := w.Claim(w.Agent("claude-1", func(r *fleet.Registration) { r.BootID = fmt.Sprint("boot-", boot) }))
		w.silence()
		w.sweeps("reap", 1)
		if want := []jobs.Status{jobs.Ready, jobs.Ready, jobs.Failed}[boot]; w.Get(held).Status != want {
			t.Fatalf("after %d losses it is %s; want %s", boot+1, w.Get(held).Status, want)
		}
	}
	w.Consistent()
}

// A dead agent's jobs go back before their leases end, and what it had saved goes
// on at another factory.
func TestACheckpointTravelsToAnotherFactory(t *testing.T) {
	w := newTestWorkspace(t)
	one := w.Agent("claude-1", func(r *fleet.Registration) { r.Factory.Name = "mac-1" })
	w.Job("one")
	held := w.Claim(one)
	for _, at := range []string{`{"at": 1}`, `{"at": 2}`} {
		if _, err := w.Dispatch.Progress(w.Ctx, one, ref(held), report.Progress{Percent: number(40), Checkpoint: []byte(at)}); err != nil {
			t.Fatal(err)
		}
	}
	w.sweeps("reap", 0)
	w.silence()
	if !w.Get(held).Lease.ExpiresAt.After(time.Now().Add(10 * time.Minute)) {
		t.Fatal("the lease has ended already")
	}
	w.sweeps("reap", 1)
	two := w.Agent("claude-2", func(r *fleet.Registration) { r.Factory.Name = "linux-2" })
	again := w.Claim(two)
	if again.Key != held.Key || string(again.Checkpoint) != `{"at": 2}` || again.Epoch != 2 {
		t.Errorf("the next attempt has %s of epoch %d with checkpoint %s", again.Key, again.Epoch, again.Checkpoint)
	}
	if again.ProgressPercent != nil {
		t.Errorf("it begins at %d%%: that was the other attempt's", *again.ProgressPercent)
	}
	if _, err := w.Dispatch.Progress(w.Ctx, one, ref(held), report.Progress{}); !fault.Is(err, fault.StaleEpoch) {
		t.Errorf("the dead agent's word: %v; want stale_epoch", err)
	}
	w.Consistent()
}

// A second boot of an agent ends what the first one held, at once and without
// blame; the first one is directed to stop.
func TestASecondBootTakesOver(t *testing.T) {
	w := newTestWorkspace(t)
	first := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(first)
	second := w.Agent("claude-1", func(r *fleet.Registration) { r.BootID = "boot-2" })
	if now := w.Want(held, jobs.Ready); now.LostCount != 0 || now.FailureCount != 0 {
		t.Errorf("%d losses, %d failures", now.LostCount, now.FailureCount)
	}
	if _, err := w.Dispatch.Claim(w.Ctx, first, claim.Request{}); !fault.Is(err, fault.Superseded) {
		t.Errorf("a claim of the first boot: %v", err)
	}
	if again := w.Claim(second); again.Epoch != 2 {
		t.Errorf("epoch %d", again.Epoch)
	}
	if _, err := w.Dispatch.Complete(w.Ctx, first, ref(held), report.Completion{}); !fault.Is(err, fault.StaleEpoch) {
		t.Errorf("completion by the first boot: %v", err)
	}
	w.Consistent()
}

// One call of a person does what all loops do, in the one workspace only.
func TestRecoverDoesEverythingOnce(t *testing.T) {
	w := newTestWorkspace(t)
	other := inWorkspace(t, w.DB, dbfactory.Workspace(t, w.DB))
	for _, one := range []*testWorkspace{w, other} {
		agent := one.Agent("claude-1")
		one.Product("atlas", jobs.ProductSettings{Serialise: jobs.SerialiseRepo, Repos: []string{"ledger-api"}})
		one.Job("expired", priority(10))
		one.Expire(one.Claim(agent))
		one.Job("warned", priority(9), estimate(20))
		one.Passed(one.Claim(agent), 60)
		one.Job("timed out", priority(8), estimate(20))
		late := one.Claim(agent)
		one.Passed(late, 60)
		dbfactory.Exec(t, w.DB, `UPDATE job_lease SET directive = 'warn', warned_at = clock_timestamp() - interval '11 minutes' WHERE job_id = $1`, late.ID)
		due := one.Job("due", func(n *jobs.New) { n.NotBefore = number(time.Now().Add(time.Hour)) })
		dbfactory.Exec(t, w.DB, `UPDATE job SET not_before = clock_timestamp() WHERE id = $1`, due.ID)
		one.Job("busy", inRepo("ledger-api"))
		one.Job("held", inRepo("ledger-api"))
		dbfactory.Exec(t, w.DB, `WITH gone AS (DELETE FROM repo_slot WHERE workspace_id = $1 RETURNING job_id)
			DELETE FROM job USING gone WHERE id = gone.job_id`, one.Workspace)
		a := one.Job("a", dependsOn(due.Key))
		b := one.Job("b", dependsOn(a.Key))
		dbfactory.Exec(t, w.DB, `INSERT INTO job_dependency (workspace_id, job_id, depends_on_id, created_by) VALUES ($1, $2, $3, 'test')`,
			one.Workspace, a.ID, b.ID)
	}
	viewer := dbfactory.Person(w.Workspace, tenancy.RoleMember)
	if _, err := w.Dispatch.Recover(w.Ctx, viewer); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a member: %v", err)
	}
	got, err := w.Dispatch.Recover(w.Ctx, w.Owner)
	if want := (recovery.Counts{TakenBack: 1, Promoted: 2, Warned: 1, TimedOut: 1, CyclesFailed: 2}); got != want || err != nil {
		t.Errorf("recovered %+v, %v; want %+v", got, err, want)
	}
	if got, err := w.Dispatch.Recover(w.Ctx, w.Owner); got != (recovery.Counts{}) || err != nil {
		t.Errorf("once more: %+v, %v", got, err)
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM event WHERE workspace_id = $1
		AND type IN ('job.lost', 'job.warned', 'job.timed_out', 'job.promoted', 'job.failed')`, other.Workspace); n != 0 {
		t.Errorf("%d changes in the other workspace", n)
	}
	w.Consistent()
}

// All that recovery does may be done by two at once.
func TestTwoMayRecoverAtOnce(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	var lapsed []jobs.Job
	for i := range 5 {
		w.Job(fmt.Sprint(i), priority(9))
		lapsed = append(lapsed, w.Claim(agent))
	}
	var left ids.ID
	for i := range 5 {
		w.Job(fmt.Sprint("late ", i), priority(10), estimate(20))
		late := w.Claim(agent)
		w.Passed(late, 60)
		left = late.ID
	}
	// After the last claim, which would take leases back in passing.
	for _, held := range lapsed {
		w.Expire(held)
	}
	var all sync.WaitGroup
	sums := make([]recovery.Counts, 4)
	for i := range sums {
		all.Go(func() {
			var err error
			if sums[i], err = w.Dispatch.Recover(w.Ctx, w.Owner); err != nil {
				t.Errorf("recover: %v", err)
			}
		})
	}
	all.Wait()
	var sum recovery.Counts
	for _, s := range sums {
		sum.TakenBack, sum.Warned = sum.TakenBack+s.TakenBack, sum.Warned+s.Warned
	}
	if sum.TakenBack != 5 || sum.Warned != 5 {
		t.Errorf("together %d taken back, %d warned; want 5 of each", sum.TakenBack, sum.Warned)
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM event WHERE job_id = $1 AND type = 'job.warned'`, left); n != 1 {
		t.Errorf("%d warnings of one lease", n)
	}
	w.Consistent()
}

// heard counts the wake-ups of lanes.
type heard struct {
	mu sync.Mutex
	n  int
}

// listen subscribes to what the services publish.
func listen(w *testWorkspace) *heard {
	h := &heard{}
	cancel := w.Wake.Subscribe("lane:", func(topic string) {
		if topic != "lane:" {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.n++
		}
	})
	w.T.Cleanup(cancel)
	return h
}

func (h *heard) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.n
}
