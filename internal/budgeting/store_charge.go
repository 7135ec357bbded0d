package budgeting

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
)

// settlement is what is settled of one period for one lease, as it is written.
type settlement struct {
	Job        ids.ID    `json:"job_id"`
	Epoch      int64     `json:"epoch"`
	Budget     ids.ID    `json:"budget_id"`
	Start      time.Time `json:"period_start"`
	HeldNanos  int64     `json:"held_nanos"`
	HeldTokens int64     `json:"held_tokens"`
	FreeNanos  int64     `json:"free_nanos"`
	FreeTokens int64     `json:"free_tokens"`
	Unpriced   int64     `json:"unpriced"`
	MoreNanos  int64     `json:"more_nanos"`
	MoreTokens int64     `json:"more_tokens"`
	Entry      string    `json:"entry"`
	IsNew      bool      `json:"is_new"`
}

// isNothing reports whether there is nothing to write.
func (s *settlement) isNothing() bool {
	return !s.IsNew && s.HeldNanos == 0 && s.HeldTokens == 0 && s.FreeNanos == 0 && s.FreeTokens == 0 && s.Unpriced == 0 &&
		s.MoreNanos == 0 && s.MoreTokens == 0
}

// settleTx writes settlements, of which no two have the same lease and period.
func settleTx(ctx context.Context, tx db.Tx, workspace ids.ID, rows []*settlement) error {
	encoded, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("encode settlements: %w", err)
	}
	jobs := make([]ids.ID, len(rows))
	for i, r := range rows {
		jobs[i] = r.Job
	}
	return q.BudgetSettle(ctx, tx, workspace, encoded, jobs)
}

// reservedTx reads what the leases of jobs have reserved and not used.
func reservedTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID) (map[reservationKey]*held, error) {
	rows, err := q.BudgetReservations(ctx, tx, workspace, jobs)
	if err != nil {
		return nil, err
	}
	reserved := make(map[reservationKey]*held, len(rows))
	for _, r := range rows {
		key := reservationKey{spend.Lease{Job: r.JobID, Epoch: r.Epoch}, r.BudgetID, r.PeriodStart.UTC()}
		reserved[key] = &held{nanos: spend.Nanos(r.HeldNanos), tokens: r.HeldTokens, warned: r.Warned}
	}
	return reserved, nil
}

// lastingTx returns those of the leases that last, and now do until the transaction ends. It
// waits for nobody: one that is ending has ended.
func lastingTx(ctx context.Context, tx db.Tx, workspace ids.ID, leases []spend.Lease) (map[spend.Lease]bool, error) {
	if len(leases) == 0 {
		return nil, nil
	}
	in, epochs := spend.SplitLeases(leases)
	rows, err := q.BudgetLeasesHold(ctx, tx, workspace, in, epochs)
	if err != nil {
		return nil, err
	}
	lasting := make(map[spend.Lease]bool, len(rows))
	for _, r := range rows {
		lasting[spend.Lease{Job: r.JobID, Epoch: r.Epoch}] = true
	}
	return lasting, nil
}

// fireTx notes a threshold, and reports whether it was not known.
func fireTx(ctx context.Context, tx db.Tx, workspace ids.ID, f crossing) (bool, error) {
	fired, err := q.BudgetAlertFire(ctx, tx, workspace, f.threshold, []ids.ID{f.budget.id}, []time.Time{f.start})
	if err != nil {
		return false, err
	}
	return len(fired) > 0, nil
}

// warnedTx returns the leases whose holders a budget has warned, as charges of nothing.
func warnedTx(ctx context.Context, tx db.Tx, workspace ids.ID, most int) ([]spend.Charge, error) {
	rows, err := q.LeasesWarnedByBudget(ctx, tx, workspace, most)
	return db.Map(rows, err, func(r dbsqlc.LeasesWarnedByBudgetRow) spend.Charge {
		return spend.Charge{Lease: spend.Lease{Job: r.JobID, Epoch: r.Epoch}, At: r.Now}
	})
}
