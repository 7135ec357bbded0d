package budgets

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
)

func noticesTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]Notice, error) {
	rows, err := q.BudgetNotices(ctx, tx, workspace)
	if err != nil {
		return nil, err
	}
	var list []Notice
	for _, r := range rows {
		n := Notice{ID: r.ID, Name: r.Name, Hard: r.Hard, UsedUp: r.UsedUp, PeriodEnd: r.PeriodEnd,
			Limits: Limits{Money: money(r.LimitNanos), Tokens: r.LimitTokens, Runs: r.LimitRuns}}
		n.Percent = percent(State{Limits: n.Limits,
			Settled: Amounts{Money: spend.Nanos(r.SettledNanos), Tokens: r.SettledTokens, Runs: r.Runs}})
		for _, at := range r.Thresholds {
			if at <= min(n.Percent, MaxAlert) {
				n.Threshold = at
			}
		}
		if r.RunsOut && r.ExhaustedP50 != nil && r.ExhaustedP50.Before(r.PeriodEnd) {
			n.RunsOut = r.ExhaustedP50
		}
		if n.UsedUp || n.Threshold > 0 || n.RunsOut != nil {
			list = append(list, n)
		}
	}
	return list, nil
}

func stopTx(ctx context.Context, tx db.Tx, workspace, id ids.ID) (bool, error) {
	n, err := q.BudgetStop(ctx, tx, workspace, id)
	if err != nil {
		return false, err
	}
	return n > 0, nil
}
