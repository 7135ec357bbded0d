package budgeting

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
)

// scopedTx reads the budgets of a scope, without the state of their periods.
func scopedTx(ctx context.Context, tx db.Tx, workspace ids.ID, of Scope) (list []*budget, now time.Time, err error) {
	rows, err := q.BudgetsOfScope(ctx, tx, workspace, of.Product, of.Phase, of.Job)
	if err != nil {
		return nil, now, err
	}
	for _, r := range rows {
		now = r.Now
		b := &budget{id: r.ID, name: r.Name, hard: r.Hard, slice: spend.Nanos(r.SliceNanos), sliceTokens: r.SliceTokens,
			throttledBelow: r.ThrottledBelow}
		if err := b.setPeriod(r.Period, r.Timezone, r.Now); err != nil {
			return nil, now, err
		}
		list = append(list, b)
	}
	return list, now, nil
}
