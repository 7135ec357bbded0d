package dispatch_test

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// uses reports so many input tokens of a model of the house, without a cost unless one is
// given.
func (w *testWorkspace) uses(agent tenancy.Principal, j jobs.Job, id string, tokens int64, cost ...string) {
	w.T.Helper()
	e := spend.Entry{ID: id, Provider: "house", Model: "house-9", Input: tokens, At: time.Now()}
	if len(cost) > 0 {
		e.CostUSD = &cost[0]
	}
	answers, err := w.Dispatch.RecordUsage(w.Ctx, agent, []report.UsageLine{{Lease: lease.Ref{Job: j.Key, Epoch: j.Epoch}, Entry: e}})
	if err != nil || answers[0].Refused != nil {
		w.T.Fatal(answers, err)
	}
}

// price saves what a million input tokens of the house's model cost, in dollars.
func (w *testWorkspace) price(usd int64, from time.Time) {
	w.T.Helper()
	_, err := prices.NewService(w.DB, w.Wake).Save(w.Ctx, w.Owner, prices.List{{Provider: "house", Model: "house-*", From: from,
		Rates: prices.Tokens{Input: usd * 1_000_000}}})
	if err != nil {
		w.T.Fatal(err)
	}
}

func (w *testWorkspace) priced(want int) {
	w.T.Helper()
	if n, err := w.Dispatch.PriceUsage(w.Ctx); n != want || err != nil {
		w.T.Errorf("%d entries were priced, %v; want %d", n, err, want)
	}
}

func (w *testWorkspace) used(j jobs.Job) spend.Usage {
	w.T.Helper()
	used, err := w.Dispatch.Usage(w.Ctx, w.Owner, j.ID)
	if err != nil {
		w.T.Fatal(err)
	}
	return used.Total
}

// A price that is saved later prices what had no known cost since its instant, once, and
// charges the budgets. What had a cost keeps it, and so does what was before the price.
func TestALaterPricePricesWhatHadNone(t *testing.T) {
	w := newTestWorkspace(t)
	budget := w.budget(1000)
	agent := w.Agent("claude-1")
	w.Job("One")
	j := w.Claim(agent)
	w.priced(0)
	w.uses(agent, j, "unknown", 1_000_000)
	w.uses(agent, j, "told", 1_000_000, "0.50")
	w.uses(agent, j, "before", 1_000_000)
	dbfactory.Exec(t, w.DB, `UPDATE usage_entry SET booked_at = booked_at - interval '1 day' WHERE id = 'before'`)
	w.stands(budget, 50, 10, 1)
	w.price(2, time.Now().Add(-time.Hour))
	w.priced(1)
	w.priced(0)
	w.stands(budget, 250, 10, 1)
	if u := w.used(j); u.Charged != 2_500_000_000 || u.Computed != 2_000_000_000 || u.Unpriced != 1 || u.UnpricedTokens != 2_000_000 || u.Entries != 3 {
		t.Errorf("the job has used %+v", u)
	}
	// Raised afterwards, it goes on by its price.
	w.uses(agent, j, "unknown", 1_500_000)
	w.stands(budget, 350, 10, 1)
	w.ledgerIsRight()
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM event WHERE type = 'usage.priced'`); n != 1 {
		t.Errorf("%d events tell of it", n)
	}
	if left := dbfactory.Int(t, w.DB, `SELECT unpriced_tokens::int FROM budget_period`); left != 2_000_000 {
		t.Errorf("the budget says that %d tokens have no price", left)
	}
	sums := dbfactory.Text(t, w.DB, `SELECT concat_ws(' ', sum(charged_nanos), sum(unpriced_tokens), sum(unpriced)) FROM usage_hour`)
	if sums != "3500000000 2000000 1" {
		t.Errorf("the sums by the hour are %s", sums)
	}
}

// What others have locked is left for the next pass, and nobody waits.
func TestPricingWaitsForNobody(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("One")
	j := w.Claim(agent)
	w.uses(agent, j, "one", 1_000_000)
	w.price(2, time.Now().Add(-time.Hour))
	for _, sql := range []string{`SELECT id FROM usage_entry FOR UPDATE`, `SELECT 1 FROM job_usage FOR UPDATE`} {
		err := w.DB.In(w.Ctx, db.Workspace(w.Workspace), func(tx db.Tx) error {
			if _, err := tx.Exec(w.Ctx, sql); err != nil {
				return err
			}
			w.priced(0)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// A record that began before the prices were saved may come for a while.
	w.priced(1)
	dbfactory.Exec(t, w.DB, `UPDATE usage_pricing SET saved_at = saved_at - interval '2 minutes'`)
	w.priced(0)
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM usage_pricing`); n != 0 {
		t.Error("it never ends")
	}
}
