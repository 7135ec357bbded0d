package budgets

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
)

// hoursTx reads how periods of budgets stood, hour by hour, in the order of time.
func hoursTx(ctx context.Context, tx db.Tx, workspace ids.ID, budgets []ids.ID, since time.Time) (map[ids.ID][]hour, error) {
	rows, err := q.BudgetHours(ctx, tx, workspace, budgets, since)
	if err != nil {
		return nil, err
	}
	found := map[ids.ID][]hour{}
	for _, r := range rows {
		found[r.BudgetID] = append(found[r.BudgetID], hour{period: r.PeriodStart, begins: r.Hour, Point: Point{At: r.At,
			Limits:   Limits{Money: money(r.LimitNanos)},
			Settled:  Amounts{Money: spend.Nanos(r.SettledNanos), Tokens: r.SettledTokens, Runs: r.Runs},
			Reserved: Amounts{Money: spend.Nanos(r.ReservedNanos), Tokens: r.ReservedTokens}}})
	}
	return found, nil
}

// spentSinceTx fills in since when budgets are charged, of those of which it is not known yet.
func spentSinceTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Budget) error {
	at, unknown := map[ids.ID]*Budget{}, []ids.ID{}
	for i := range list {
		if b := &list[i]; b.SpentSince == nil && b.State.Settled.Money > 0 {
			at[b.ID], unknown = b, append(unknown, b.ID)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	rows, err := q.BudgetsSpentSince(ctx, tx, unknown, workspace)
	if err != nil {
		return err
	}
	for _, r := range rows {
		at[r.ID].SpentSince = &r.At
	}
	return nil
}

// foreseeTx keeps the projections of budgets.
func foreseeTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Budget) error {
	p := dbsqlc.BudgetProjectParams{WorkspaceID: workspace}
	orForever := func(at *time.Time) time.Time {
		if at == nil {
			return Forever
		}
		return *at
	}
	for _, b := range list {
		f := b.Projection
		p.Ids, p.Verdicts = append(p.Ids, b.ID), append(p.Verdicts, string(f.Verdict))
		p.Burn1h, p.Burn24h, p.Burn7d = append(p.Burn1h, int64(f.BurnPerDay1h)), append(p.Burn24h, int64(f.BurnPerDay24h)),
			append(p.Burn7d, int64(f.BurnPerDay7d))
		p.P50, p.P90 = append(p.P50, orForever(f.ExhaustedP50)), append(p.P90, orForever(f.ExhaustedP90))
		p.SpentSince = append(p.SpentSince, orForever(b.SpentSince))
		p.ThrottledBelow = append(p.ThrottledBelow, b.ThrottledBelow)
	}
	return q.BudgetProject(ctx, tx, p)
}
