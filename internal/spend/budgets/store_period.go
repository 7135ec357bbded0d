package budgets

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
)

// columns are windows as the columns of a statement.
func columns(windows []window) (budgets []ids.ID, starts, ends []time.Time) {
	for _, w := range windows {
		budgets, starts, ends = append(budgets, w.budget), append(starts, w.start), append(ends, w.end)
	}
	return budgets, starts, ends
}

func openPeriodsTx(ctx context.Context, tx db.Tx, workspace ids.ID, windows []window) ([]ids.ID, error) {
	budgets, starts, ends := columns(windows)
	return q.BudgetPeriodsOpen(ctx, tx, workspace, budgets, starts, ends)
}

// periodsTx reads those periods that are open, of each budget the last one that is named.
func periodsTx(ctx context.Context, tx db.Tx, workspace ids.ID, windows []window, locked bool) (map[ids.ID]State, error) {
	budgets, starts, _ := columns(windows)
	states := make(map[ids.ID]State, len(windows))
	note := func(r dbsqlc.BudgetPeriodsRow) {
		states[r.BudgetID] = State{Start: r.PeriodStart, End: r.PeriodEnd,
			Limits:         Limits{Money: money(r.LimitNanos), Tokens: r.LimitTokens, Runs: r.LimitRuns},
			Settled:        Amounts{Money: spend.Nanos(r.SettledNanos), Tokens: r.SettledTokens, Runs: r.Runs},
			Reserved:       Amounts{Money: spend.Nanos(r.ReservedNanos), Tokens: r.ReservedTokens},
			UnpricedTokens: r.UnpricedTokens}
	}
	if locked {
		rows, err := q.BudgetPeriodsLock(ctx, tx, budgets, starts, workspace)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			note(dbsqlc.BudgetPeriodsRow(r))
		}
		return states, nil
	}
	rows, err := q.BudgetPeriods(ctx, tx, budgets, starts, workspace)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		note(r)
	}
	return states, nil
}

func pastTx(ctx context.Context, tx db.Tx, workspace, budget ids.ID, before time.Time, most int) ([]State, error) {
	rows, err := q.BudgetPeriodsPast(ctx, tx, workspace, budget, before, most)
	return db.Map(rows, err, func(r dbsqlc.BudgetPeriodsPastRow) State {
		return State{Start: r.PeriodStart, End: r.PeriodEnd,
			Limits:         Limits{Money: money(r.LimitNanos), Tokens: r.LimitTokens, Runs: r.LimitRuns},
			Settled:        Amounts{Money: spend.Nanos(r.SettledNanos), Tokens: r.SettledTokens, Runs: r.Runs},
			Reserved:       Amounts{Money: spend.Nanos(r.ReservedNanos), Tokens: r.ReservedTokens},
			UnpricedTokens: r.UnpricedTokens}
	})
}

func alertsTx(ctx context.Context, tx db.Tx, workspace ids.ID, windows []window) (map[ids.ID][]Alert, error) {
	budgets, starts, _ := columns(windows)
	rows, err := q.BudgetAlerts(ctx, tx, budgets, starts, workspace)
	if err != nil {
		return nil, err
	}
	alerts := map[ids.ID][]Alert{}
	for _, r := range rows {
		alerts[r.BudgetID] = append(alerts[r.BudgetID], Alert{Threshold: r.Threshold, At: r.FiredAt})
	}
	return alerts, nil
}

// fireTx notes a threshold, and returns the budgets of which it was not known.
func fireTx(ctx context.Context, tx db.Tx, workspace ids.ID, windows []window, threshold int) ([]ids.ID, error) {
	budgets, starts, _ := columns(windows)
	return q.BudgetAlertFire(ctx, tx, workspace, threshold, budgets, starts)
}
