package budgeting

import (
	"context"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tiermodel"
)

// holdersTx reads the budgets that hold models without a price, the widest scopes first, and
// the time of the database where there are any.
func holdersTx(ctx context.Context, tx db.Tx, workspace ids.ID) (list []Holder, now time.Time, err error) {
	rows, err := q.BudgetsHoldingUnpriced(ctx, tx, workspace)
	if err != nil {
		return nil, now, err
	}
	for _, r := range rows {
		list, now = append(list, Holder{ID: r.ID, Name: r.Name, Asks: r.Asks, scope: r.ScopeKey}), r.Now
	}
	return list, now, nil
}

// tablesTx reads which models products name, and the products that name some.
func tablesTx(ctx context.Context, tx db.Tx, workspace ids.ID) (map[ids.ID]tiermodel.Table, map[string]ids.ID, error) {
	rows, err := q.ProductModels(ctx, tx, workspace)
	if err != nil {
		return nil, nil, err
	}
	tables, named := make(map[ids.ID]tiermodel.Table, len(rows)), make(map[string]ids.ID, len(rows))
	for _, r := range rows {
		named[r.Name] = r.ID
		if tables[r.ID], err = jobs.ParseModels(r.Models); err != nil {
			return nil, nil, fmt.Errorf("models of product %s: %w", r.ID, err)
		}
	}
	return tables, named, nil
}

// asking is a job and a budget that asks about the models that it uses.
type asking struct {
	job         ids.ID
	key, budget string
}

// askingTx reads which jobs count for a budget that asks about models without a price.
func askingTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID) ([]asking, error) {
	rows, err := q.BudgetsAskingForJobs(ctx, tx, workspace, jobs)
	return db.Map(rows, err, func(r dbsqlc.BudgetsAskingForJobsRow) asking { return asking{r.JobID, r.Key, r.Name} })
}
