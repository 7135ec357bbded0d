package budgeting

import (
	"context"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
)

// scopedTx reads the budgets of a scope, without the state of their periods.
func scopedTx(ctx context.Context, tx db.Tx, workspace ids.ID, of Scope) (list []*budget, now time.Time, err error) {
	rows, err := q.BudgetsOfScope(ctx, tx, dbsqlc.BudgetsOfScopeParams{
		WorkspaceID: workspace, Product: of.Product, Phase: of.Phase, JobID: of.Job,
	})
	if err != nil {
		return nil, now, fmt.Errorf("budgets of a scope: %w", err)
	}
	for _, r := range rows {
		now = r.Now
		b := &budget{id: r.ID, name: r.Name, hard: r.Hard, slice: spend.Nanos(r.SliceNanos), sliceTokens: r.SliceTokens,
			throttledBelow: int(r.ThrottledBelow)}
		if err := b.setPeriod(r.Period, r.Timezone, r.Now); err != nil {
			return nil, now, err
		}
		list = append(list, b)
	}
	return list, now, nil
}
