package budgeting

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/spend"
	"fleetboard/internal/spend/budgets"
)

var q = dbsqlc.New()

// Active says what budgets a workspace has.
type Active struct {
	Any bool
	// HoldsUnpriced: one of them holds models without a price.
	HoldsUnpriced bool
}

// ActiveTx reads what budgets a workspace has.
func ActiveTx(ctx context.Context, tx db.Tx, workspace ids.ID) (Active, error) {
	r, err := q.BudgetsActive(ctx, tx, workspace)
	if err != nil {
		return Active{}, fmt.Errorf("look for budgets: %w", err)
	}
	return Active{r.Active, r.HoldsUnpriced}, nil
}

// covered is jobs with the budgets that they count for, and when they were read.
type covered struct {
	asks    map[ids.ID]*ask
	budgets []*budget // in the order in which all lock
	now     time.Time
}

// coveredTx reads the budgets that jobs count for, without the state of their periods.
func coveredTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID) (covered, error) {
	c := covered{asks: map[ids.ID]*ask{}}
	rows, err := q.BudgetsOfJobs(ctx, tx, dbsqlc.BudgetsOfJobsParams{WorkspaceID: workspace, JobIds: jobs})
	if err != nil {
		return c, fmt.Errorf("budgets of jobs: %w", err)
	}
	for _, r := range rows {
		c.now = r.Now
		last := len(c.budgets) - 1
		if last < 0 || c.budgets[last].id != r.BudgetID {
			c.budgets = append(c.budgets, &budget{id: r.BudgetID, name: r.Name, hard: r.Hard, slice: spend.Nanos(r.SliceNanos),
				sliceTokens: r.SliceTokens, alertAt: r.AlertAt, throttledBelow: int(r.ThrottledBelow),
				period: budgets.Period(r.Period), zone: r.Timezone})
			last++
		}
		a := c.asks[r.JobID]
		if a == nil {
			a = &ask{job: r.JobID, epoch: r.Epoch + 1, priority: int(r.Priority)}
			c.asks[r.JobID] = a
		}
		a.budgets = append(a.budgets, c.budgets[last])
	}
	return c, nil
}

// periodTx fills in how the periods of an instant stand, and opens those that nobody has
// opened yet. With lock nobody else changes them until the transaction ends.
func periodTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []*budget, at time.Time, lock bool) error {
	if len(list) == 0 {
		return nil
	}
	missing, err := statesTx(ctx, tx, workspace, list, at, lock)
	if err != nil || len(missing) == 0 {
		return err
	}
	if !lock {
		return nil
	}
	if _, err := budgets.OpenTx(ctx, tx, workspace, missing, at); err != nil {
		return err
	}
	_, err = statesTx(ctx, tx, workspace, list, at, lock)
	return err
}

// statesTx reads the states of periods, and returns the budgets whose period is not open.
func statesTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []*budget, at time.Time, lock bool) ([]ids.ID, error) {
	named, starts := make([]ids.ID, len(list)), make([]time.Time, len(list))
	for i, b := range list {
		zone, err := time.LoadLocation(b.zone)
		if err != nil {
			return nil, fmt.Errorf("budget %s: %w", b.id, err)
		}
		start, end, err := b.period.Bounds(at, zone)
		if err != nil {
			return nil, fmt.Errorf("budget %s: %w", b.id, err)
		}
		b.state = budgets.State{Start: start, End: end}
		named[i], starts[i] = b.id, start
	}
	var rows []dbsqlc.BudgetPeriodsLockRow
	var err error
	if lock {
		rows, err = q.BudgetPeriodsLock(ctx, tx, dbsqlc.BudgetPeriodsLockParams{WorkspaceID: workspace, BudgetIds: named, Starts: starts})
	} else {
		var read []dbsqlc.BudgetPeriodsRow
		read, err = q.BudgetPeriods(ctx, tx, dbsqlc.BudgetPeriodsParams{WorkspaceID: workspace, BudgetIds: named, Starts: starts})
		for _, r := range read {
			rows = append(rows, dbsqlc.BudgetPeriodsLockRow(r))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read periods: %w", err)
	}
	open := map[ids.ID]dbsqlc.BudgetPeriodsLockRow{}
	for _, r := range rows {
		open[r.BudgetID] = r
	}
	var missing []ids.ID
	for _, b := range list {
		r, known := open[b.id]
		if !known {
			missing = append(missing, b.id)
			continue
		}
		b.state = budgets.State{Start: r.PeriodStart, End: r.PeriodEnd, UnpricedTokens: r.UnpricedTokens,
			Limits:   budgets.Limits{Money: (*spend.Nanos)(r.LimitNanos), Tokens: r.LimitTokens, Runs: r.LimitRuns},
			Settled:  budgets.Amounts{Money: spend.Nanos(r.SettledNanos), Tokens: r.SettledTokens, Runs: r.Runs},
			Reserved: budgets.Amounts{Money: spend.Nanos(r.ReservedNanos), Tokens: r.ReservedTokens}}
	}
	return missing, nil
}

// reserveTx writes what leases have reserved.
func reserveTx(ctx context.Context, tx db.Tx, workspace ids.ID, grants []Grant) error {
	type row struct {
		Job    ids.ID      `json:"job_id"`
		Epoch  int64       `json:"epoch"`
		Budget ids.ID      `json:"budget_id"`
		Start  time.Time   `json:"period_start"`
		Nanos  spend.Nanos `json:"nanos"`
		Tokens int64       `json:"tokens"`
	}
	var rows []row
	for _, g := range grants {
		for _, s := range g.slices {
			rows = append(rows, row{Job: g.Job, Epoch: g.epoch, Budget: s.budget.id, Start: s.budget.state.Start, Nanos: s.nanos,
				Tokens: s.tokens})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("encode reservations: %w", err)
	}
	if err := q.BudgetReserve(ctx, tx, dbsqlc.BudgetReserveParams{WorkspaceID: workspace, Slices: encoded}); err != nil {
		return fmt.Errorf("reserve: %w", err)
	}
	return nil
}

// FreeTx frees what ended leases have reserved and not used. Where they have reserved
// nothing it changes nothing.
func FreeTx(ctx context.Context, tx db.Tx, workspace ids.ID, leases []spend.Lease) error {
	p := dbsqlc.BudgetFreeParams{WorkspaceID: workspace}
	for _, l := range leases {
		p.JobIds, p.Epochs = append(p.JobIds, l.Job), append(p.Epochs, l.Epoch)
	}
	if err := q.BudgetFree(ctx, tx, p); err != nil {
		return fmt.Errorf("free reservations: %w", err)
	}
	return nil
}

// heldTx are jobs that wait for a budget and that no hard one is short for by itself, the
// most urgent first.
func heldTx(ctx context.Context, tx db.Tx, workspace ids.ID, most int32) ([]ids.ID, error) {
	list, err := q.JobsHeldByBudget(ctx, tx, dbsqlc.JobsHeldByBudgetParams{WorkspaceID: workspace, MaxRows: most})
	if err != nil {
		return nil, fmt.Errorf("jobs that wait for a budget: %w", err)
	}
	return list, nil
}

// pausedTx are jobs that a budget paused.
func pausedTx(ctx context.Context, tx db.Tx, workspace ids.ID, most int32) ([]ids.ID, error) {
	list, err := q.JobsPausedByBudget(ctx, tx, dbsqlc.JobsPausedByBudgetParams{WorkspaceID: workspace, MaxRows: most})
	if err != nil {
		return nil, fmt.Errorf("jobs that a budget paused: %w", err)
	}
	return list, nil
}
