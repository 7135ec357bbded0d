package audit_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
)

// Sums of budgets that are not those of their ledger, reservations that nobody holds, and
// those of leases that have ended are found.
func TestWrongBudgetsAreFound(t *testing.T) {
	w := newTestWorkspace(t)
	j := w.life()
	limit := spend.Nanos(1000)
	if _, err := budgets.NewService(w.db, deaf{}, nil).Create(t.Context(), w.owner, budgets.Input{Name: "All", Scope: budgets.Workspace,
		Period: budgets.Month, Limits: budgets.Limits{Money: &limit}}); err != nil {
		t.Fatal(err)
	}
	w.clean(audit.Run)
	for column, detail := range map[string]string{
		"limit_nanos": "limit in nano-dollars by +3", "settled_nanos": "settled nano-dollars by +3", "settled_tokens": "settled tokens by +3",
		"reserved_nanos": "reserved nano-dollars by +3", "reserved_tokens": "reserved tokens by +3", "runs": "runs by +3",
	} {
		w.damage(`UPDATE budget_period SET ` + column + ` = ` + column + ` + 3`)
		w.finds(audit.Run, "ledger", jobs.Job{}, "differs from its ledger: "+detail)
		w.damage(`UPDATE budget_period SET ` + column + ` = ` + column + ` - 3`)
	}
	w.clean(audit.Run)
	hold := func(job ids.ID) {
		t.Helper()
		w.damage(`INSERT INTO budget_reservation (workspace_id, job_id, epoch, budget_id, period_start, held_nanos, held_tokens)
			SELECT p.workspace_id, l.job_id, l.epoch, p.budget_id, p.period_start, 5, 0 FROM budget_period p, job_lease l WHERE l.job_id = $1`, job)
		w.damage(`INSERT INTO budget_ledger (workspace_id, budget_id, period_start, kind, from_account, to_account, nanos)
			SELECT workspace_id, budget_id, period_start, 'reserve', 'free', 'reserved', 5 FROM budget_period`)
		w.damage(`UPDATE budget_period SET reserved_nanos = reserved_nanos + 5`)
	}
	hold(j["running"].ID)
	w.clean(audit.Run)
	w.damage(`UPDATE budget_reservation SET held_nanos = 4`)
	w.finds(audit.Run, "reserved", jobs.Job{}, "has 5 nano-dollars and 0 tokens reserved, leases hold 4 and 0")
	w.damage(`UPDATE budget_reservation SET held_nanos = 5, epoch = epoch + 1`)
	w.finds(audit.Run, "reservation", jobs.Job{Key: j["running"].ID.String()}, "has ended and holds something of All")
	w.damage(`DELETE FROM budget_ledger`)
	w.finds(audit.Run, "ledger", jobs.Job{}, "the period of All")
}

type deaf struct{}

func (deaf) Publish(...string) {}
