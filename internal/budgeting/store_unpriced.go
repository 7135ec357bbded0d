package budgeting

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
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
