package dispatch_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// seatTest is a workspace in which ada, on the only seat of her factory, works on a job of priority 5 and
// has saved a checkpoint. An urgent one of priority 9 is ready, and the gap is 4.
type seatTest struct {
	*testWorkspace

	ada         tenancy.Principal
	low, urgent jobs.Job
}

func newSeatTest(t *testing.T) *seatTest {
	t.Helper()
	w := &seatTest{testWorkspace: newTestWorkspace(t)}
	w.gap(4)
	w.Job("low")
	w.ada = w.Agent("ada", oneSeat)
	w.low = w.Claim(w.ada)
	w.saves(w.ada, w.low)
	w.urgent = w.Job("urgent", priority(9))
	return w
}

// oneSeat is an agent with the only seat of its factory.
func oneSeat(r *fleet.Registration) { r.MaxConcurrentJobs, r.Factory.Seats = 1, 1 }

// gap sets by how much a job must be more urgent to be given a seat.
func (w *testWorkspace) gap(n int) {
	w.T.Helper()
	if _, err := w.Dispatch.ChangeDispatch(w.Ctx, w.Owner, setting.Change{PreemptGap: &n}); err != nil {
		w.T.Fatal(err)
	}
}

// saves saves a checkpoint of a job.
func (w *testWorkspace) saves(agent tenancy.Principal, j jobs.Job) {
	w.T.Helper()
	if _, err := w.Dispatch.Progress(w.Ctx, agent, ref(j), report.Progress{Checkpoint: []byte(`{"at": 1}`)}); err != nil {
		w.T.Fatal(err)
	}
}

// preempt runs a cycle of the loop.
func (w *testWorkspace) preempt() {
	w.T.Helper()
	if _, err := w.Dispatch.Preempt(w.Ctx); err != nil {
		w.T.Fatal(err)
	}
}

// isAsked runs a cycle and reports whether the agent of a job is asked for its seat then.
func (w *testWorkspace) isAsked(j jobs.Job) bool {
	w.T.Helper()
	w.preempt()
	return w.Get(j).Lease.GivesSeat()
}

// gives gives a job back as its agent was asked.
func (w *testWorkspace) gives(agent tenancy.Principal, j jobs.Job) {
	w.T.Helper()
	if _, err := w.Dispatch.Release(w.Ctx, agent, ref(j), report.Release{Checkpoint: []byte(`{"at": 2}`)}); err != nil {
		w.T.Fatal(err)
	}
}

// lapses ends the time of all requests.
func (w *testWorkspace) lapses() {
	w.T.Helper()
	dbfactory.Exec(w.T, w.DB, `UPDATE preemption SET expires_at = clock_timestamp() WHERE state = 'asked'`)
}

// request returns the state of the last request about a job.
func (w *testWorkspace) request(j jobs.Job) string {
	w.T.Helper()
	return dbfactory.Text(w.T, w.DB, `SELECT coalesce((SELECT state FROM preemption WHERE victim_id = $1), '')`, j.ID)
}

func (w *testWorkspace) events(j jobs.Job, kind string) int {
	w.T.Helper()
	return dbfactory.Int(w.T, w.DB, `SELECT count(*) FROM event WHERE job_id = $1 AND type = $2`, j.ID, kind)
}

func TestWhoseSeatIsAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(w *seatTest)
		asked   bool
	}{
		"the gap is met":       {func(*seatTest) {}, true},
		"the gap is wider":     {func(w *seatTest) { w.gap(5) }, false},
		"no gap":               {func(w *seatTest) { w.gap(0) }, false},
		"the widest gap":       {func(w *seatTest) { w.gap(10) }, false},
		"another seat is free": {func(w *seatTest) { w.Agent("bo") }, false},
		"the other seat cannot run it": {func(w *seatTest) {
			w.Agent("bo")
			w.edit(w.urgent, "factory", jobs.Spec{Factory: "factory-of-ada"})
		}, true},
		"nobody can run it": {func(w *seatTest) { w.edit(w.urgent, "capabilities", jobs.Spec{Capabilities: []string{"gpu"}}) }, false},
		"raised by waiting alone": {func(w *seatTest) {
			w.edit(w.urgent, "priority", jobs.Spec{Priority: 8})
			dbfactory.Exec(w.T, w.DB, `UPDATE job_ready SET priority = 10, raised = 2 WHERE job_id = $1`, w.urgent.ID)
		}, false},
		"no checkpoint": {func(w *seatTest) {
			dbfactory.Exec(w.T, w.DB, `UPDATE job_lease SET checkpoint = NULL, checkpoint_at = NULL`)
		}, false},
		"nearly done":                  {func(w *seatTest) { w.reaches(w.ada, w.low, 99) }, true},
		"all done":                     {func(w *seatTest) { w.reaches(w.ada, w.low, 100) }, false},
		"a person's pause is pending":  {func(w *seatTest) { w.Act(w.low, jobs.ByPause) }, false},
		"a person's cancel is pending": {func(w *seatTest) { w.Act(w.low, jobs.ByCancel) }, false},
		"warned of its estimate": {func(w *seatTest) {
			dbfactory.Exec(w.T, w.DB, `UPDATE job_lease SET directive = 'warn', warned_at = clock_timestamp()`)
		}, true},
		"a merge":              {func(w *seatTest) { dbfactory.Exec(w.T, w.DB, `UPDATE job SET kind = 'merge' WHERE id = $1`, w.low.ID) }, false},
		"a verification":       {func(w *seatTest) { dbfactory.Exec(w.T, w.DB, `UPDATE job SET kind = 'verify' WHERE id = $1`, w.low.ID) }, false},
		"claimed by hand":      {func(w *seatTest) { dbfactory.Exec(w.T, w.DB, `UPDATE agent SET heartbeat_interval_seconds = 3600`) }, false},
		"the lease has lapsed": {func(w *seatTest) { w.Expire(w.low) }, false},
		"a seat of a factory that drains": {func(w *seatTest) {
			if _, err := w.Fleet.SetDraining(w.Ctx, w.Owner, "factory-of-ada", true); err != nil {
				w.T.Fatal(err)
			}
		}, false},
		"a token that does not reach the product": {func(w *seatTest) {
			dbfactory.Exec(w.T, w.DB, `UPDATE agent SET products = '{billing}'`)
		}, false},
		"its provider takes no requests": {func(w *seatTest) {
			dbfactory.Exec(w.T, w.DB, `UPDATE agent SET provider = 'anthropic'`)
			dbfactory.Exec(w.T, w.DB, `INSERT INTO provider_hold (workspace_id, provider, enrolment_id, until)
				VALUES ($1, 'anthropic', '00000000-0000-0000-0000-000000000000', clock_timestamp() + interval '1 hour')`, w.Workspace)
		}, false},
		"claims are stopped":    {func(w *seatTest) { w.stop(fleet.HoldClaims) }, false},
		"all is stopped":        {func(w *seatTest) { w.stop(fleet.HoldAll) }, false},
		"its product is paused": {func(w *seatTest) { w.Product("default", jobs.ProductSettings{Paused: true}) }, false},
		"offers are made": {func(w *seatTest) {
			mode := setting.Targeted
			if _, err := w.Dispatch.ChangeDispatch(w.Ctx, w.Owner, setting.Change{Mode: &mode}); err != nil {
				w.T.Fatal(err)
			}
		}, true},
		"it waits for its time": {func(w *seatTest) { w.Act(w.urgent, jobs.ByPause) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSeatTest(t)
			c.arrange(w)
			if got := w.isAsked(w.low); got != c.asked {
				t.Fatalf("asked: %t; want %t", got, c.asked)
			}
			if n := w.events(w.low, "job.preempt_asked"); n != map[bool]int{true: 1}[c.asked] || w.events(w.urgent, "job.preempt_asked") != n {
				t.Errorf("%d events", n)
			}
			w.preempt()
			if n := w.events(w.low, "job.preempt_asked"); n > 1 {
				t.Error("it was asked twice")
			}
			w.Consistent()
		})
	}
}

// edit edits one field of a job.
func (w *testWorkspace) edit(j jobs.Job, field string, in jobs.Spec) {
	w.T.Helper()
	p := jobs.Patch{Spec: in, Version: w.Get(j).Version, Set: []string{field}}
	if _, err := w.Jobs.Patch(w.Ctx, w.Owner, j.Key, p); err != nil {
		w.T.Fatal(err)
	}
}

func (w *testWorkspace) reaches(agent tenancy.Principal, j jobs.Job, percent int) {
	w.T.Helper()
	if _, err := w.Dispatch.Progress(w.Ctx, agent, ref(j), report.Progress{Percent: &percent}); err != nil {
		w.T.Fatal(err)
	}
}

// An agent that obeys gives its job back without blame, the urgent one is given to its seat, and the
// other one goes on from its checkpoint. It is not asked again before it has made progress.
func TestASeatGoesToTheUrgentJob(t *testing.T) {
	w := newSeatTest(t)
	w.preempt()
	d, why := w.directive(w.ada)
	if d != lease.Pause || !strings.HasPrefix(why, w.urgent.Key+" (priority 9) is more urgent") {
		t.Fatalf("ada is told %q, %q", d, why)
	}
	w.gives(w.ada, w.low)
	back := w.Want(w.low, jobs.Ready)
	if back.FailureCount+back.LostCount != 0 || back.LastError != "" || back.NotBefore != nil || string(back.Checkpoint) != `{"at": 2}` {
		t.Errorf("it is back as %+v", back)
	}
	if w.events(w.low, "job.preempted") != 1 || w.request(w.low) != "given" {
		t.Errorf("%d events, the request is %s", w.events(w.low, "job.preempted"), w.request(w.low))
	}
	outcome := dbfactory.Text(t, w.DB, `SELECT outcome || ': ' || error FROM attempt WHERE job_id = $1`, w.low.ID)
	if outcome != "released: Its seat went to "+w.urgent.Key+", which is more urgent." {
		t.Errorf("the attempt: %s", outcome)
	}
	got := w.Claim(w.ada)
	if got.ID != w.urgent.ID {
		t.Fatalf("the seat went to %s", got.Key)
	}
	w.preempt()
	w.Complete(w.ada, got)

	again := w.Claim(w.ada)
	if again.ID != w.low.ID || string(again.Checkpoint) != `{"at": 2}` {
		t.Fatalf("%s goes on from %s", again.Key, again.Checkpoint)
	}
	w.Job("urgent, too", priority(9))
	w.saves(w.ada, again)
	if w.isAsked(w.low) {
		t.Error("it is asked again where it began")
	}
	dbfactory.Exec(t, w.DB, `UPDATE job_lease SET claimed_at = claimed_at - interval '121 seconds'`)
	if !w.isAsked(w.low) {
		t.Error("it is not asked though it has saved a new checkpoint")
	}
	w.gives(w.ada, again)
	w.Complete(w.ada, w.Claim(w.ada))
	third := w.Claim(w.ada)
	w.Job("urgent as well", priority(10))
	w.saves(w.ada, third)
	w.reaches(w.ada, third, 0)
	if !w.isAsked(w.low) {
		t.Error("it is not asked though its percentage has risen")
	}
	w.Consistent()
}

// Of those that fit the one is asked that loses the least.
func TestTheLeastWorkIsLost(t *testing.T) {
	w := newSeatTest(t)
	var all []jobs.Job
	var agents []tenancy.Principal
	for _, name := range []string{"bo", "cy"} {
		w.Job(name, priority(10))
		agents = append(agents, w.Agent(name, oneSeat))
		all = append(all, w.Claim(agents[len(agents)-1]))
	}
	for i, j := range all {
		w.edit(j, "priority", jobs.Spec{Priority: 5})
		w.saves(agents[i], j)
	}
	dbfactory.Exec(t, w.DB, `UPDATE job_lease SET checkpoint_at = checkpoint_at - interval '1 minute' WHERE job_id = $1`, all[1].ID)
	w.preempt()
	for _, j := range []jobs.Job{w.low, all[1]} {
		if w.Get(j).Lease.GivesSeat() {
			t.Errorf("%s is asked", j.Title)
		}
	}
	if !w.Get(all[0]).Lease.GivesSeat() {
		t.Error("the one with the newest checkpoint is not asked")
	}
	dbfactory.Exec(t, w.DB, `UPDATE job_lease SET checkpoint_at = now()`)
	dbfactory.Exec(t, w.DB, `UPDATE job_lease SET claimed_at = claimed_at - interval '1 minute' WHERE job_id = $1`, w.low.ID)
	w.Job("urgent, too", priority(9))
	w.preempt()
	if !w.Get(all[1]).Lease.GivesSeat() || w.Get(w.low).Lease.GivesSeat() {
		t.Error("the youngest attempt is not asked")
	}
}

// A request is taken back once it is needed no more, and the victim goes on.
func TestARequestIsTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *seatTest)
		state  string
	}{
		"nobody answers":              {func(w *seatTest) { w.lapses() }, "expired"},
		"the job is cancelled":        {func(w *seatTest) { w.Act(w.urgent, jobs.ByCancel) }, "withdrawn"},
		"the job is given a seat":     {func(w *seatTest) { w.Claim(w.Agent("bo")) }, "withdrawn"},
		"the job is less urgent":      {func(w *seatTest) { w.edit(w.urgent, "priority", jobs.Spec{Priority: 8}) }, "withdrawn"},
		"the victim is more urgent":   {func(w *seatTest) { w.edit(w.low, "priority", jobs.Spec{Priority: 6}) }, "withdrawn"},
		"its product is paused":       {func(w *seatTest) { w.Product("default", jobs.ProductSettings{Paused: true}) }, "withdrawn"},
		"claims are stopped":          {func(w *seatTest) { w.stop(fleet.HoldClaims) }, "withdrawn"},
		"no seats are taken any more": {func(w *seatTest) { w.gap(0) }, "withdrawn"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSeatTest(t)
			if !w.isAsked(w.low) {
				t.Fatal("it is not asked")
			}
			c.change(w)
			w.preempt()
			if d, why := w.directive(w.ada); d != lease.Continue || why != "" {
				t.Errorf("ada is told %q, %q", d, why)
			}
			if got := w.request(w.low); got != c.state {
				t.Errorf("the request is %s; want %s", got, c.state)
			}
			if n := w.events(w.low, "job.preempt_withdrawn"); n != 1 {
				t.Errorf("%d events", n)
			}
			w.saves(w.ada, w.low)
			w.preempt()
			if c.state == "expired" && w.Get(w.low).Lease.GivesSeat() {
				t.Error("the attempt that did not answer is asked again")
			}
			w.Complete(w.ada, w.low)
			w.preempt()
			if got := w.request(w.low); got != "" {
				t.Errorf("the request of a finished job is %s", got)
			}
			w.Consistent()
		})
	}
}

// Another agent is asked where the first one does not answer.
func TestAnotherOneIsAsked(t *testing.T) {
	w := newSeatTest(t)
	w.Job("bo's", priority(10))
	bo := w.Agent("bo", oneSeat)
	other := w.Claim(bo)
	w.edit(other, "priority", jobs.Spec{Priority: 5})
	if !w.isAsked(w.low) {
		t.Fatal("it is not asked")
	}
	w.saves(bo, other)
	if w.isAsked(other) {
		t.Error("two are asked for one job")
	}
	w.lapses()
	if w.preempt(); w.Get(w.low).Lease.GivesSeat() {
		t.Error("the first one is asked still")
	}
	if !w.isAsked(other) {
		t.Error("the other one is not asked")
	}
}

// What a person, a stop or a budget decides replaces a request.
func TestARequestGivesWay(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *seatTest)
		status jobs.Status // after the agent gave it back
	}{
		"a person pauses it":  {func(w *seatTest) { w.Act(w.low, jobs.ByPause) }, jobs.Paused},
		"a person cancels it": {func(w *seatTest) { w.Act(w.low, jobs.ByCancel) }, jobs.Aborted},
		"all is stopped":      {func(w *seatTest) { w.stop(fleet.HoldAll) }, jobs.Paused},
		"its budget is used up": {func(w *seatTest) {
			w.edit(w.low, "token_budget", jobs.Spec{TokenBudget: new(int64(1))})
			w.spends(w.ada, w.low, "1", 1)
			w.spends(w.ada, w.low, "2", 1)
		}, jobs.Paused},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSeatTest(t)
			if !w.isAsked(w.low) {
				t.Fatal("it is not asked")
			}
			c.change(w)
			if w.Get(w.low).Lease.GivesSeat() {
				t.Fatal("its seat is asked for still")
			}
			w.preempt()
			if got := w.request(w.low); got != "kept" {
				t.Errorf("the request is %s", got)
			}
			w.gives(w.ada, w.low)
			w.Want(w.low, c.status)
			w.Consistent()
		})
	}
}

// A person lets a job keep its seat.
func TestAPersonKeepsTheSeat(t *testing.T) {
	w := newSeatTest(t)
	if !w.isAsked(w.low) {
		t.Fatal("it is not asked")
	}
	if _, err := w.Dispatch.Act(w.Ctx, w.Owner, w.low.Key, actions.Action{Verb: jobs.ByResume}); err != nil {
		t.Fatal(err)
	}
	w.preempt()
	w.saves(w.ada, w.low)
	w.reaches(w.ada, w.low, 50)
	if w.isAsked(w.low) {
		t.Error("it is asked again")
	}
	if d, _ := w.directive(w.ada); d != lease.Continue {
		t.Errorf("ada is told %q", d)
	}
}

// A request excuses nothing: what fails or is lost meanwhile is counted.
func TestARequestExcusesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		end            func(w *seatTest)
		failures, lost int
		status         jobs.Status
	}{
		"it fails": {func(w *seatTest) {
			if _, err := w.Dispatch.Fail(w.Ctx, w.ada, ref(w.low), report.Failure{Error: "broken", Retryable: true}); err != nil {
				w.T.Fatal(err)
			}
		}, 1, 0, jobs.Waiting},
		"it is lost": {func(w *seatTest) {
			w.Expire(w.low)
			if _, err := w.Dispatch.Reap(w.Ctx); err != nil {
				w.T.Fatal(err)
			}
		}, 0, 1, jobs.Ready},
		"it asks": {func(w *seatTest) {
			if _, err := w.Dispatch.Ask(w.Ctx, w.ada, ref(w.low), report.Question{Text: "Which?"}); err != nil {
				w.T.Fatal(err)
			}
		}, 0, 0, jobs.Blocked},
		"it is completed": {func(w *seatTest) { w.Complete(w.ada, w.low) }, 0, 0, jobs.Completed},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSeatTest(t)
			if !w.isAsked(w.low) {
				t.Fatal("it is not asked")
			}
			c.end(w)
			j := w.Want(w.low, c.status)
			if j.FailureCount != c.failures || j.LostCount != c.lost {
				t.Errorf("%d failures and %d losses", j.FailureCount, j.LostCount)
			}
			w.preempt()
			if got := w.request(w.low); got != "ended" && got != "" {
				t.Errorf("the request is %s", got)
			}
			if got := w.Claim(w.ada); got.ID != w.urgent.ID {
				t.Errorf("the seat went to %s", got.Key)
			}
			w.Consistent()
		})
	}
}
