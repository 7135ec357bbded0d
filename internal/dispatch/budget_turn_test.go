package dispatch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// leaseEnds are all that ends a lease.
var leaseEnds = map[string]func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) error{
	"complete": func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) error {
		_, err := w.Dispatch.Complete(w.Ctx, agent, ref(j), report.Completion{})
		return err
	},
	"fail": func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) error {
		_, err := w.Dispatch.Fail(w.Ctx, agent, ref(j), report.Failure{Error: "broken"})
		return err
	},
	"release": func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) error {
		_, err := w.Dispatch.Release(w.Ctx, agent, ref(j), report.Release{Reason: "tired"})
		return err
	},
	"ask": func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) error {
		_, err := w.Dispatch.Ask(w.Ctx, agent, ref(j), report.Question{Text: "Which?"})
		return err
	},
	"recover": func(w *testWorkspace, _ tenancy.Principal, j jobs.Job) error {
		w.Expire(j)
		_, err := w.Dispatch.Recover(w.Ctx, w.Owner)
		return err
	},
	"terminate": func(w *testWorkspace, agent tenancy.Principal, _ jobs.Job) error {
		_, err := w.Dispatch.Terminate(w.Ctx, w.Owner, agent.Name, "over", false)
		return err
	},
	"cut off": func(w *testWorkspace, agent tenancy.Principal, _ jobs.Job) error {
		_, err := w.Dispatch.CutOff(w.Ctx, w.Owner, agent.Name, "hostile")
		return err
	},
	"delete the budgets": func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) error {
		list, err := w.money().List(w.Ctx, w.Owner)
		for _, b := range list {
			if err == nil {
				err = w.money().Remove(w.Ctx, w.Owner, b.ID)
			}
		}
		w.Complete(agent, j)
		return err
	},
}

// spendsAll reports several entries of so many cents in one call.
func (w *testWorkspace) spendsAll(agent tenancy.Principal, j jobs.Job, at time.Time, cents ...int64) {
	w.T.Helper()
	var lines []report.UsageLine
	for i, n := range cents {
		cost := (spend.Nanos(n) * cent).USD()
		lines = append(lines, report.UsageLine{Lease: lease.Ref{Job: j.Key, Epoch: j.Epoch}, Entry: spend.Entry{
			ID: strings.Repeat("m", i+1), Provider: "house", Model: "house-1", Input: 1, CostUSD: &cost, At: at}})
	}
	answers, err := w.Dispatch.RecordUsage(w.Ctx, agent, lines)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, a := range answers {
		if a.Refused != nil {
			w.T.Fatal(a.Refused)
		}
	}
}

// audited returns what the audit finds, by its checks.
func (w *testWorkspace) audited() map[string]int {
	w.T.Helper()
	r, err := audit.Run(w.Ctx, w.DB)
	if err != nil {
		w.T.Fatal(err)
	}
	found := map[string]int{}
	for _, c := range r.Checks {
		if c.Found > 0 {
			found[c.Name] = c.Found
		}
	}
	return found
}

// A lease meets a period in which it has reserved nothing, of a budget that was made
// meanwhile or of a day that has begun, and reports several entries at once: what it
// reserves there is what it has not used of it, and it ends in every way.
func TestALeaseMeetsAnotherPeriod(t *testing.T) {
	for how, end := range leaseEnds {
		t.Run(strings.ReplaceAll(how, " ", "_"), func(t *testing.T) {
			w := newTestWorkspace(t)
			agents := w.Crew(2)
			day := w.budget(100, named("Day"), func(in *budgets.Input) { in.Period, in.Timezone = budgets.Day, "UTC" })
			w.Job("one")
			w.Job("two")
			j, other := w.Claim(agents[0]), w.Claim(agents[1])
			w.stands(day, 0, 20, 2)
			w.dayTurns()
			made := w.budget(100, named("Made meanwhile"))
			w.spendsAll(agents[0], j, time.Now(), 2, 3, 4)
			w.stands(made, 9, 13, 0) // a slice at the first entry and one at the last
			w.stands(day, 9, 13, 0)
			w.ledgerIsRight()
			w.spendsAll(agents[1], other, time.Now(), 2)
			w.stands(made, 11, 23, 0)
			if err := end(w, agents[0], j); err != nil {
				t.Fatal(err)
			}
			if how != "delete the budgets" {
				w.stands(made, 11, 10, 0) // what the other one holds stays
			}
			w.Complete(agents[1], other)
			w.ledgerIsRight()
			if found := w.audited(); len(found) > 0 {
				t.Errorf("the audit finds %v", found)
			}
		})
	}
}

// A lease that began before the first budget counts for it from its next report on: it
// reserves, and is paused once there is nothing left.
func TestALeaseIsOlderThanTheFirstBudget(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	j := w.Claim(agent)
	b := w.budget(20)
	w.spends(agent, j, "m-1", 1)
	w.stands(b, 1, 10, 0)
	w.spends(agent, j, "m-2", 30)
	w.told(agent, j, "pause")
	w.ledgerIsRight()
}

// No ending of a lease, and no report of usage, depends on a row of the accounts being
// right: what does not fit is a line of its own, which is reported and which the audit finds.
func TestALeaseEndsWhateverItsAccountsSay(t *testing.T) {
	for damage, c := range map[string]struct {
		sql  string
		line bool // something is left over
	}{
		"a reservation that is too large":    {`UPDATE budget_reservation SET held_nanos = held_nanos + 50000000, held_tokens = 7`, true},
		"a reservation that is huge":         {`UPDATE budget_reservation SET held_nanos = 9000000000000000000`, true},
		"a reservation that is too small":    {`UPDATE budget_reservation SET held_nanos = 1`, false},
		"a period that has reserved nothing": {`UPDATE budget_period SET reserved_nanos = 0`, true},
		"a period that has reserved more":    {`UPDATE budget_period SET reserved_nanos = reserved_nanos + 5`, false},
		"no period":                          {`ALTER TABLE budget_period DISABLE TRIGGER USER; DELETE FROM budget_period`, true},
		"no ledger":                          {`DELETE FROM budget_ledger`, false},
		"no reservation":                     {`DELETE FROM budget_reservation`, false},
		"a limit that is gone":               {`UPDATE budget_period SET limit_nanos = NULL`, false},
		"a settled sum at its end":           {`UPDATE budget_period SET settled_nanos = 9223372036854775807 / 2`, false},
	} {
		t.Run(strings.ReplaceAll(damage, " ", "_"), func(t *testing.T) {
			w := newTestWorkspace(t)
			for how, end := range leaseEnds {
				dbfactory.Exec(t, w.DB, `DELETE FROM budget`)
				agent, b := w.Agent(strings.ReplaceAll(how, " ", "-")), w.budget(100)
				j := w.claimNamed(agent, w.Job(how))
				for statement := range strings.SplitSeq(c.sql, ";") {
					dbfactory.Exec(t, w.DB, statement)
				}
				if len(w.audited()) == 0 {
					t.Errorf("%s: the audit does not find the damage", how)
				}
				w.spendsAll(agent, j, time.Now(), 1, 2)
				if err := end(w, agent, j); err != nil {
					t.Errorf("%s: %v", how, err)
				}
				left := dbfactory.Int(t, w.DB, `SELECT (SELECT count(*) FROM job_lease) + (SELECT count(*) FROM budget_reservation)`)
				lines := dbfactory.Int(t, w.DB, `SELECT count(*) FROM budget_ledger WHERE kind = 'adjust' AND budget_id = $1`, b.ID)
				told := dbfactory.Int(t, w.DB, `SELECT count(*) FROM event WHERE type = 'budget.adjusted' AND payload ->> 'budget_id' = $1::text`, b.ID.String())
				if left > 0 || (lines > 0) != c.line || lines != told {
					t.Errorf("%s: %d leases and reservations are left, %d lines adjust, %d events tell of it", how, left, lines, told)
				}
				if c.line && w.audited()["adjusted"] == 0 {
					t.Errorf("%s: the audit finds %v", how, w.audited())
				}
			}
		})
	}
}

// claimNamed claims that job.
func (w *testWorkspace) claimNamed(agent tenancy.Principal, j jobs.Job) jobs.Job {
	w.T.Helper()
	got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Job: j.Key})
	if err != nil || len(got.Jobs) != 1 {
		w.T.Fatalf("claim %s: %+v, %v", j.Key, got, err)
	}
	return got.Jobs[0]
}

// dayTurns makes it a day later for the budgets of days.
func (w *testWorkspace) dayTurns() {
	w.T.Helper()
	dbfactory.Exec(w.T, w.DB, `WITH day AS (SELECT id FROM budget WHERE period = 'day'),
		l AS (UPDATE budget_ledger SET period_start = period_start - interval '1 day' WHERE budget_id IN (SELECT id FROM day)),
		r AS (UPDATE budget_reservation SET period_start = period_start - interval '1 day' WHERE budget_id IN (SELECT id FROM day))
		UPDATE budget_period SET period_start = period_start - interval '1 day', period_end = period_end - interval '1 day'
		WHERE budget_id IN (SELECT id FROM day)`)
}
