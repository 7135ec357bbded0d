package dispatch_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// money returns the service of budgets.
func (w *testWorkspace) money() *budgets.Service { return budgets.NewService(w.DB, w.Wake, w.Dispatch) }

// budget makes a hard budget of so many cents a month for the workspace, of which each
// lease reserves ten cents at a time.
func (w *testWorkspace) budget(cents int64, change ...func(*budgets.Input)) budgets.Budget {
	w.T.Helper()
	limit, slice := spend.Nanos(cents)*10_000_000, spend.Nanos(10*10_000_000)
	in := budgets.Input{Name: "All", Scope: budgets.Workspace, Period: budgets.Month, Timezone: "Europe/Berlin", Hard: true,
		Limits: budgets.Limits{Money: &limit}, Slice: &slice}
	for _, c := range change {
		c(&in)
	}
	b, err := w.money().Create(w.Ctx, w.Owner, in)
	if err != nil {
		w.T.Fatal(err)
	}
	return b
}

func named(name string) func(*budgets.Input) { return func(in *budgets.Input) { in.Name = name } }

// stands are a budget's settled and reserved cents, and its runs.
func (w *testWorkspace) stands(b budgets.Budget, settled, reserved, runs int64) {
	w.T.Helper()
	now, err := w.money().Get(w.Ctx, w.Owner, b.ID)
	if err != nil {
		w.T.Fatal(err)
	}
	const cent = 10_000_000
	s := now.State
	if int64(s.Settled.Money) != settled*cent || int64(s.Reserved.Money) != reserved*cent || s.Settled.Runs != runs {
		w.T.Errorf("%s has settled %s, reserved %s, %d runs; want %d and %d cents, %d runs", b.Name, s.Settled.Money.USD(), s.Reserved.Money.USD(),
			s.Settled.Runs, settled, reserved, runs)
	}
}

// why is why a job's budgets have too little left for it.
func (w *testWorkspace) why(j jobs.Job) (why string) {
	w.T.Helper()
	err := w.DB.In(w.Ctx, db.Workspace(w.Workspace), func(tx db.Tx) error {
		refused, err := budgeting.RefusalsTx(w.Ctx, tx, w.Workspace, []ids.ID{j.ID})
		why = refused[j.ID].Reason()
		return err
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return why
}

// spends reports usage that cost so many cents.
func (w *testWorkspace) spends(agent tenancy.Principal, j jobs.Job, id string, cents int64) {
	w.T.Helper()
	cost := spend.Nanos(cents * 10_000_000).USD()
	answers, err := w.Dispatch.RecordUsage(w.Ctx, agent, []report.UsageLine{{Lease: lease.Ref{Job: j.Key, Epoch: j.Epoch},
		Entry: spend.Entry{ID: id, Provider: "house", Model: "house-1", Input: 1, CostUSD: &cost, At: time.Now()}}})
	if err != nil || answers[0].Refused != nil {
		w.T.Fatal(answers, err)
	}
}

// ledgerIsRight checks that all sums of periods are those of their lines, and that what is
// reserved is what leases hold.
func (w *testWorkspace) ledgerIsRight() {
	w.T.Helper()
	wrong := dbfactory.Text(w.T, w.DB, `SELECT coalesce(string_agg(p.budget_id::text || ' ' || concat_ws(' ', p.settled_nanos, l.settled, p.reserved_nanos, l.reserved, v.held,
			p.runs, l.runs), E'\n'), '') FROM budget_period p
		CROSS JOIN LATERAL (SELECT coalesce(sum(nanos) FILTER (WHERE to_account = 'settled'), 0) AS settled,
			coalesce(sum(nanos) FILTER (WHERE to_account = 'reserved'), 0) - coalesce(sum(nanos) FILTER (WHERE from_account = 'reserved'), 0) AS reserved,
			coalesce(sum(runs) FILTER (WHERE to_account = 'settled'), 0) AS runs
			FROM budget_ledger x WHERE x.budget_id = p.budget_id AND x.period_start = p.period_start) l
		CROSS JOIN LATERAL (SELECT coalesce(sum(held_nanos), 0) AS held FROM budget_reservation r JOIN job_lease k ON k.job_id = r.job_id AND k.epoch = r.epoch
			WHERE r.budget_id = p.budget_id AND r.period_start = p.period_start) v
		WHERE (p.settled_nanos, p.reserved_nanos, p.reserved_nanos, p.runs) IS DISTINCT FROM (l.settled::bigint, l.reserved::bigint, v.held::bigint, l.runs::bigint)`)
	if wrong != "" {
		w.T.Errorf("periods and their ledgers differ (settled, lines; reserved, lines, held; runs, lines):\n%s", wrong)
	}
}

// A claim reserves a slice of each budget that its job counts for; whatever ends the lease
// frees what is left of it.
func TestALeaseReservesUntilItEnds(t *testing.T) {
	for how, end := range map[string]func(w *testWorkspace, agent tenancy.Principal, j jobs.Job){
		"complete": func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) { w.Complete(agent, j) },
		"release": func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) {
			if _, err := w.Dispatch.Release(w.Ctx, agent, ref(j), report.Release{Reason: "tired"}); err != nil {
				w.T.Fatal(err)
			}
		},
		"fail": func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) {
			if _, err := w.Dispatch.Fail(w.Ctx, agent, ref(j), report.Failure{Error: "broken"}); err != nil {
				w.T.Fatal(err)
			}
		},
		"ask": func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) {
			if _, err := w.Dispatch.Ask(w.Ctx, agent, ref(j), report.Question{Text: "Which?"}); err != nil {
				w.T.Fatal(err)
			}
		},
		"loss": func(w *testWorkspace, _ tenancy.Principal, j jobs.Job) {
			w.Expire(j)
			if _, err := w.Dispatch.Reclaim(w.Ctx, w.Owner, ""); err != nil {
				w.T.Fatal(err)
			}
		},
		"cut off": func(w *testWorkspace, agent tenancy.Principal, _ jobs.Job) {
			if _, err := w.Dispatch.CutOff(w.Ctx, w.Owner, agent.Name, "hostile"); err != nil {
				w.T.Fatal(err)
			}
		},
	} {
		t.Run(strings.ReplaceAll(how, " ", "_"), func(t *testing.T) {
			w := newTestWorkspace(t)
			agent := w.Agent("claude-1")
			all, product := w.budget(100), w.budget(50, named("Product"), func(in *budgets.Input) { in.Scope, in.Product = budgets.Product, "default" })
			other := w.budget(100, named("M2"), func(in *budgets.Input) { in.Scope, in.Phase = budgets.Milestone, "M2" })
			w.Job("one")
			j := w.Claim(agent)
			w.stands(all, 0, 10, 1)
			w.stands(product, 0, 10, 1)
			w.stands(other, 0, 0, 0)
			w.spends(agent, j, "m-1", 3)
			w.stands(all, 3, 7, 1)
			w.spends(agent, j, "m-2", 4)
			w.stands(product, 7, 13, 1) // topped up, before the slice is used
			w.ledgerIsRight()
			end(w, agent, j)
			w.stands(all, 7, 0, 1)
			w.stands(product, 7, 0, 1)
			w.ledgerIsRight()
			w.Consistent()
		})
	}
}

// Sixty-four agents that claim at once, of four processes, find money for exactly as many as
// the budget has.
func TestClaimsAtOnceFitTheBudget(t *testing.T) {
	w := newTestWorkspace(t)
	processes := []*testWorkspace{w, inWorkspace(t, w.DB, w.Workspace), inWorkspace(t, w.DB, w.Workspace), inWorkspace(t, w.DB, w.Workspace)}
	agents := w.Crew(64)
	b := w.budget(10*25 + 9)
	for i := range agents {
		w.Job(fmt.Sprint("job ", i))
	}
	got := make([]int, len(agents))
	var all sync.WaitGroup
	for i, agent := range agents {
		all.Go(func() {
			result, err := processes[i%len(processes)].Dispatch.Claim(w.Ctx, agent, claim.Request{})
			if err != nil {
				t.Error(err)
			}
			got[i] = len(result.Jobs)
		})
	}
	all.Wait()
	given := 0
	for _, n := range got {
		given += n
	}
	if given != 25 {
		t.Errorf("%d claims got a job; want 25", given)
	}
	w.stands(b, 0, 250, 25)
	w.ledgerIsRight()
	w.Consistent()
}

// A job without money waits for its budget and says which one; the claim gets the next one
// that has money. A raise lets it go on by itself, a claim by name gets the reason.
func TestAJobWaitsForItsBudget(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.budget(10, named("Small"), func(in *budgets.Input) { in.Scope, in.Product = budgets.Product, "default" })
	w.Job("running")
	w.Claim(agent)
	held := w.Job("held", priority(9))
	if _, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Job: held.Key}); !fault.Is(err, fault.NotClaimable) || !strings.Contains(err.Error(), "Small") {
		t.Errorf("a claim by name: %v", err)
	}
	w.Want(held, jobs.Waiting)
	w.waitsFor(held, jobs.WaitBudget)
	w.Nothing(agent, claim.ReasonEmpty)
	w.Want(held, jobs.Waiting)
	if why := w.why(held); why != `The budget "Small" has $0.00 free, and the job needs $0.10` {
		t.Errorf("it waits because %s", why)
	}
	list, err := w.money().List(w.Ctx, w.Owner)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.money().Raise(w.Ctx, w.Owner, list[0].ID, budgets.Raise{Amount: 10 * 10_000_000, Reason: "more"}); err != nil {
		t.Fatal(err)
	}
	w.Want(held, jobs.Ready)
	if got := w.Claim(agent); got.Key != held.Key {
		t.Errorf("claimed %s; want %s", got.Key, held.Key)
	}
	w.ledgerIsRight()
	w.Consistent()
}

// The end of a lease wakes as many of those that wait as now fit, the most urgent first.
func TestWhatALeaseFreesGoesToTheNext(t *testing.T) {
	w := newTestWorkspace(t)
	agents := w.Crew(3)
	w.budget(10)
	w.Job("first", priority(9))
	first := w.Claim(agents[0])
	low, high := w.Job("low", priority(1)), w.Job("high", priority(5))
	w.Nothing(agents[1], claim.ReasonBudget)
	w.waitsFor(low, jobs.WaitBudget)
	w.waitsFor(high, jobs.WaitBudget)
	w.Complete(agents[0], first)
	w.Want(high, jobs.Ready)
	w.Want(low, jobs.Waiting)
	if got := w.Claim(agents[1]); got.Key != high.Key {
		t.Errorf("claimed %s; want %s", got.Key, high.Key)
	}
	w.ledgerIsRight()
}

// However many jobs wait for a budget that has nothing left, those of another one go on.
func TestAnEmptyBudgetKeepsNoOther(t *testing.T) {
	w := newTestWorkspace(t)
	agents := w.Crew(3)
	other := "other"
	if _, _, err := w.Jobs.PutProduct(w.Ctx, w.Owner, other, jobs.ProductSettings{}); err != nil {
		t.Fatal(err)
	}
	of := func(product string) func(*budgets.Input) {
		return func(in *budgets.Input) { in.Name, in.Scope, in.Product = product, budgets.Product, product }
	}
	w.budget(10, of("default"))
	full := w.budget(10, of(other))
	for _, product := range []string{"default", other} {
		w.Job("running in "+product, inProduct(product), priority(10))
		w.Claim(agents[0])
	}
	for i := range 205 {
		w.Job(fmt.Sprint("urgent ", i), priority(9))
	}
	last := w.Job("last", inProduct(other), priority(1))
	if _, err := w.Dispatch.Claim(w.Ctx, agents[1], claim.Request{Max: 100}); err != nil {
		t.Fatal(err)
	}
	for dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_ready`) > 0 {
		w.Nothing(agents[2], claim.ReasonBudget)
	}
	w.waitsFor(last, jobs.WaitBudget)
	if _, err := w.money().Raise(w.Ctx, w.Owner, full.ID, budgets.Raise{Amount: 10 * 10_000_000, Reason: "more"}); err != nil {
		t.Fatal(err)
	}
	w.Want(last, jobs.Ready)
}

// A running job whose budget is used up is directed to pause, and goes on by itself once
// there is money. What it spent beyond the budget is settled all the same.
func TestAUsedUpBudgetPausesWhatRuns(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	b := w.budget(10)
	w.Job("one")
	j := w.Claim(agent)
	w.spends(agent, j, "m-1", 9)
	w.told(agent, j, "warn")
	w.spends(agent, j, "m-2", 4)
	w.told(agent, j, "pause")
	w.stands(b, 13, 0, 1)
	if _, err := w.Dispatch.Release(w.Ctx, agent, ref(j), report.Release{Reason: "asked to"}); err != nil {
		t.Fatal(err)
	}
	w.Want(j, jobs.Paused)
	if _, err := w.money().Raise(w.Ctx, w.Owner, b.ID, budgets.Raise{Amount: 30 * 10_000_000, Reason: "more"}); err != nil {
		t.Fatal(err)
	}
	w.Want(j, jobs.Ready)
	w.Claim(agent)
	w.stands(b, 13, 10, 2)
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM event WHERE type = 'budget.threshold_reached'`); n != 4 {
		t.Errorf("%d thresholds were told; want 50, 80, 90 and 100 once each", n)
	}
	w.ledgerIsRight()
	w.Consistent()
}

// A threshold that is not reached any more, since there is more money or another limit, gives its
// alert anew; one that is still reached does not.
func TestThresholdsTellAnew(t *testing.T) {
	for how, more := range map[string]func(w *testWorkspace, b budgets.Budget) error{
		"a raise": func(w *testWorkspace, b budgets.Budget) error {
			_, err := w.money().Raise(w.Ctx, w.Owner, b.ID, budgets.Raise{Amount: 100 * cent})
			return err
		},
		"a transfer": func(w *testWorkspace, b budgets.Budget) error {
			from := w.budget(500, named("Giver"), func(in *budgets.Input) { in.Scope, in.Phase = budgets.Milestone, "M9" })
			_, err := w.money().Transfer(w.Ctx, w.Owner, from.ID, budgets.Transfer{To: b.ID, Amount: 100 * cent})
			return err
		},
		"a higher limit": func(w *testWorkspace, b budgets.Budget) error {
			limit := 200 * cent
			_, err := w.money().Change(w.Ctx, w.Owner, b.ID, budgets.Patch{Money: budgets.Ceiling[spend.Nanos]{Set: true, Value: &limit}})
			return err
		},
	} {
		t.Run(strings.ReplaceAll(how, " ", "_"), func(t *testing.T) {
			w := newTestWorkspace(t)
			agent, b := w.Agent("claude-1"), w.budget(100)
			w.Job("one")
			j := w.Claim(agent)
			told := func(want string) {
				t.Helper()
				got := dbfactory.Text(t, w.DB, `SELECT coalesce(string_agg(payload ->> 'threshold', ' ' ORDER BY id), '') FROM event WHERE type = 'budget.threshold_reached'`)
				if got != want {
					t.Errorf("told of %s; want %s", got, want)
				}
			}
			w.spends(agent, j, "m-1", 105)
			told("50 80 90 100")
			if err := more(w, b); err != nil {
				t.Fatal(err)
			}
			w.spends(agent, j, "m-2", 20) // 125 of 200: 50 % were reached all the time
			told("50 80 90 100")
			w.spends(agent, j, "m-3", 40)
			told("50 80 90 100 80")
			w.spends(agent, j, "m-4", 45)
			told("50 80 90 100 80 90 100")
		})
	}
}

// Whoever lives on the last of its slice is warned before it is directed to pause; the
// warning is sent once, keeps no other directive away, and goes when there is money.
func TestAHolderIsWarnedBeforeItsBudgetIsUsedUp(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	b := w.budget(10)
	w.Job("one", func(in *jobs.New) { in.EstimatedMinutes = number(1) })
	j := w.Claim(agent)
	w.spends(agent, j, "m-1", 4)
	w.told(agent, j, "continue")
	w.spends(agent, j, "m-2", 3)
	w.told(agent, j, "warn")
	w.spends(agent, j, "m-3", 1)
	w.told(agent, j, "warn")
	warnings := func(want int) {
		t.Helper()
		if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM event WHERE type = 'job.warned'`); n != want {
			t.Errorf("%d warnings were told; want %d", n, want)
		}
	}
	warnings(1)
	if _, err := w.money().Raise(w.Ctx, w.Owner, b.ID, budgets.Raise{Amount: 10 * 10_000_000, Reason: "more"}); err != nil {
		t.Fatal(err)
	}
	w.told(agent, j, "continue")
	w.stands(b, 8, 12, 1)
	w.spends(agent, j, "m-4", 9)
	w.told(agent, j, "warn")
	warnings(2)

	// Its estimate is over too, which ends it where nothing happens.
	w.Passed(j, 60)
	if n, err := w.Dispatch.Warn(w.Ctx); err != nil || n != 1 {
		t.Errorf("%d overdue holders were warned, %v; want 1", n, err)
	}
	warnings(3)
	w.spends(agent, j, "m-5", 4)
	w.told(agent, j, "pause")
	w.ledgerIsRight()
	w.Consistent()
}

// What a person paused stays paused, whatever money a budget has.
func TestABudgetResumesNothingThatAPersonPaused(t *testing.T) {
	w := newTestWorkspace(t)
	b := w.budget(10)
	j := w.Job("one")
	if _, err := w.Dispatch.Act(w.Ctx, w.Owner, j.Key, actions.Action{Verb: jobs.ByPause}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.money().Raise(w.Ctx, w.Owner, b.ID, budgets.Raise{Amount: 30 * 10_000_000, Reason: "more"}); err != nil {
		t.Fatal(err)
	}
	w.Want(j, jobs.Paused)
}

// Late usage is charged to its budget, and reserves nothing.
func TestLateUsageIsCharged(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	b := w.budget(100)
	w.Job("one")
	j := w.Claim(agent)
	w.Complete(agent, j)
	w.spends(agent, j, "late", 25)
	w.stands(b, 25, 0, 1)
	w.ledgerIsRight()
}

// A soft budget holds and pauses nothing; a budget of runs counts attempts.
func TestSoftBudgetsAndRuns(t *testing.T) {
	w := newTestWorkspace(t)
	agents := w.Crew(3)
	soft := w.budget(10, named("Soft"), func(in *budgets.Input) { in.Hard = false })
	one := int64(1)
	runs := w.budget(10, named("Runs"), func(in *budgets.Input) { in.Limits, in.Slice = budgets.Limits{Runs: &one}, nil })
	w.Job("one")
	held := w.Job("two", priority(1))
	j := w.Claim(agents[0])
	w.spends(agents[0], j, "m-1", 50)
	w.told(agents[0], j, "continue")
	w.Nothing(agents[1], claim.ReasonBudget)
	w.waitsFor(held, jobs.WaitBudget)
	w.stands(runs, 50, 0, 1)
	w.ledgerIsRight()
	if now, err := w.money().Get(w.Ctx, w.Owner, soft.ID); err != nil {
		t.Fatal(err)
	} else if free, _ := now.State.Free(); free >= 0 {
		t.Errorf("the soft budget has %d free; want less than nothing", free)
	}
}

// A throttle keeps the money of a budget, hard or soft, for more urgent jobs, says so, and
// lets the others go on once it is lifted.
func TestAThrottleKeepsMoneyForUrgentJobs(t *testing.T) {
	for _, hard := range []bool{true, false} {
		t.Run(fmt.Sprintf("hard_%t", hard), func(t *testing.T) {
			w := newTestWorkspace(t)
			b := w.budget(1000, func(in *budgets.Input) { in.Throttle, in.Hard = true, hard })
			dbfactory.Exec(t, w.DB, `UPDATE budget SET throttled_below = 6`)
			agent := w.Agent("claude-1")
			low := w.Job("Low", func(n *jobs.New) { n.Priority = new(5) })
			high := w.Job("High", func(n *jobs.New) { n.Priority = new(6) })
			got := w.Claim(agent)
			if got.ID != high.ID {
				t.Fatalf("claimed %s", got.Key)
			}
			w.Complete(agent, got)
			result, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{})
			if err != nil || len(result.Jobs) != 0 {
				t.Fatalf("claimed %v, %v", result.Jobs, err)
			}
			w.waitsFor(low, jobs.WaitBudget)
			if why := w.why(low); !strings.Contains(why, "keeps what is left") {
				t.Errorf("it says: %s", why)
			}
			dbfactory.Exec(t, w.DB, `UPDATE budget SET throttled_below = 0`)
			w.Dispatch.BudgetsFreed(w.Ctx, w.Workspace, []ids.ID{b.ID})
			if got := w.Claim(agent); got.ID != low.ID {
				t.Errorf("claimed %s", got.Key)
			}
		})
	}
}
