package dispatch_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
)

// repaired puts all budgets right, and returns what was done.
func (w *testWorkspace) repaired() (done []string) {
	w.T.Helper()
	list, err := audit.BudgetRepairs(w.Ctx, w.DB)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, r := range list {
		did, err := r.Write(w.Ctx, w.DB)
		if err != nil {
			w.T.Errorf("%s: %v", r.Budget, err)
		}
		done = append(done, did...)
	}
	return done
}

// Whatever is wrong with what leases hold of a budget, its ledger says what is right: after
// the repair the audit is clean, a second one does nothing, and leases end as usual.
func TestBudgetsAreRebuilt(t *testing.T) {
	for damage, sql := range map[string]string{
		"a lease holds too much":     `UPDATE budget_reservation SET held_nanos = held_nanos + 50000000 WHERE job_id = $1`,
		"a lease holds too little":   `UPDATE budget_reservation SET held_nanos = 1, held_tokens = 9 WHERE job_id = $1`,
		"a lease holds nothing":      `DELETE FROM budget_reservation WHERE job_id = $1`,
		"the period is short":        `UPDATE budget_period SET reserved_nanos = 3 WHERE $1::uuid IS NOT NULL`,
		"the period has too much":    `UPDATE budget_period SET reserved_nanos = reserved_nanos + 3, settled_nanos = 5, runs = 9 WHERE $1::uuid IS NOT NULL`,
		"a lease that ended holds":   `INSERT INTO budget_reservation SELECT workspace_id, job_id, 77, budget_id, period_start, 5, 5 FROM budget_reservation WHERE job_id = $1`,
		"a period that is not there": `INSERT INTO budget_reservation SELECT workspace_id, job_id, epoch, budget_id, period_start - interval '1 year', 5, 5 FROM budget_reservation WHERE job_id = $1`,
		"lines of nobody": `INSERT INTO budget_ledger (workspace_id, budget_id, period_start, kind, from_account, to_account, nanos, job_id, epoch)
			SELECT workspace_id, budget_id, period_start, 'free', 'reserved', 'free', 7, job_id, 55 FROM budget_reservation WHERE job_id = $1`,
		"lines of one that lasts": `INSERT INTO budget_ledger (workspace_id, budget_id, period_start, kind, from_account, to_account, nanos, job_id, epoch)
			SELECT workspace_id, budget_id, period_start, 'free', 'reserved', 'free', 700000000, job_id, epoch FROM budget_reservation WHERE job_id = $1`,
		"a limit that is another": `UPDATE budget_period SET limit_nanos = 12 WHERE $1::uuid IS NOT NULL`,
	} {
		t.Run(strings.ReplaceAll(damage, " ", "_"), func(t *testing.T) {
			w := newTestWorkspace(t)
			agents := w.Crew(2)
			b := w.budget(100)
			w.Job("one")
			w.Job("two")
			one, two := w.Claim(agents[0]), w.Claim(agents[1])
			w.spendsAll(agents[0], one, time.Now(), 2, 1)
			dbfactory.Exec(t, w.DB, sql, one.ID)
			if len(w.audited()) == 0 {
				t.Error("the audit does not find it")
			}
			if len(w.repaired()) == 0 {
				t.Error("nothing was done")
			}
			if found, again := w.audited(), w.repaired(); len(found)+len(again) > 0 {
				t.Errorf("after the repair the audit finds %v, and there is more to do: %v", found, again)
			}
			if damage != "lines of one that lasts" {
				w.stands(b, 3, 17, 2)
			}
			w.Complete(agents[0], one)
			w.Complete(agents[1], two)
			w.stands(b, 3, 0, 2)
			if found := w.audited(); len(found) > 0 {
				t.Errorf("at the end the audit finds %v", found)
			}
			if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM event WHERE type = 'budget.repaired'`); n != 1 {
				t.Errorf("%d events tell of it", n)
			}
		})
	}
}

// A period whose ledger lacks its first line has nothing to go by: it stays.
func TestAPeriodWithoutALedgerStays(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	b := w.budget(100)
	w.Job("one")
	w.Claim(agent)
	dbfactory.Exec(t, w.DB, `DELETE FROM budget_ledger`)
	list, err := audit.BudgetRepairs(w.Ctx, w.DB)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if done, err := list[0].Write(w.Ctx, w.DB); err == nil || len(done) > 0 {
		t.Error(done, err)
	}
	w.stands(b, 0, 10, 1)
}

// The alarm of a lease that held more than was reserved is found until somebody repairs.
func TestAnAlarmIsFoundUntilTheRepair(t *testing.T) {
	w := newTestWorkspace(t)
	agents := w.Crew(3)
	b := w.budget(100)
	var held []jobs.Job
	for i, a := range agents {
		w.Job(fmt.Sprint("job ", i))
		held = append(held, w.Claim(a))
	}
	dbfactory.Exec(t, w.DB, `UPDATE budget_reservation SET held_nanos = 250000000 WHERE job_id = $1`, held[0].ID)
	w.Complete(agents[0], held[0]) // takes from the others
	w.Complete(agents[1], held[1]) // the rest, and more than there is
	if found := w.audited(); found["adjusted"] != 1 || found["reserved"] != 1 {
		t.Errorf("the audit finds %v", found)
	}
	w.repaired()
	w.stands(b, 0, 10, 3)
	if found := w.audited(); len(found) > 0 {
		t.Errorf("after the repair the audit finds %v", found)
	}
	w.Complete(agents[2], held[2])
	w.stands(b, 0, 0, 3)
	if found := w.audited(); len(found) > 0 {
		t.Errorf("at the end the audit finds %v", found)
	}
}

// Repairs beside agents at work, and beside whatever damages the rows, disturb nobody: in
// the end all is right.
func TestRepairsBesideTraffic(t *testing.T) {
	w := newTestWorkspace(t)
	c := &crew{testWorkspace: w, processes: []*testWorkspace{w, inWorkspace(t, w.DB, w.Workspace)}, spent: map[string]int64{}}
	c.agents = w.Crew(6)
	for i := range c.agents {
		c.random = append(c.random, seeded(uint64(i)))
	}
	b := w.budget(10_000, func(in *budgets.Input) { in.Period = budgets.Once })
	for i := range 60 {
		w.Job(fmt.Sprint("job ", i), dispatchtest.Losses(100))
	}
	stop := make(chan struct{})
	var beside sync.WaitGroup
	repairs := 0
	beside.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			dbfactory.Exec(t, w.DB, `UPDATE budget_reservation SET held_nanos = held_nanos + 5 WHERE job_id = (SELECT min(job_id::text)::uuid FROM budget_reservation)`)
			repairs += len(w.repaired())
		}
	})
	c.workOff()
	close(stop)
	beside.Wait()
	w.repaired()
	if repairs == 0 {
		t.Error("nothing was ever repaired")
	}
	if found := w.audited(); len(found) > 0 {
		t.Errorf("the audit finds %v", found)
	}
	var told int64
	for _, cents := range c.spent {
		told += cents
	}
	w.stands(b, told, 0, c.claims.Load())
}
