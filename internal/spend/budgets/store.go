package budgets

import (
	"context"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/forecast"
)

var q = dbsqlc.New()

// budgetsTx reads those of the budgets that were not removed, all for nil, and the time
// of the database.
func budgetsTx(ctx context.Context, tx db.Tx, workspace ids.ID, some []ids.ID) ([]Budget, time.Time, error) {
	rows, err := q.BudgetList(ctx, tx, workspace, some)
	if err != nil {
		return nil, time.Time{}, err
	}
	var now time.Time
	list := make([]Budget, 0, len(rows))
	for _, r := range rows {
		now = r.ReadAt
		list = append(list, Budget{ID: r.ID, Name: r.Name, Scope: Scope(r.Scope),
			ProductID: orNil(r.ProductID), Product: r.Product, Phase: r.Phase,
			JobID: orNil(r.JobID), JobKey: r.JobKey, Period: Period(r.Period), Timezone: r.Timezone,
			Limits: Limits{Money: money(r.LimitNanos), Tokens: r.LimitTokens, Runs: r.LimitRuns}, Hard: r.Hard,
			Slice: spend.Nanos(r.SliceNanos), SliceTokens: r.SliceTokens, AlertAt: r.AlertAt, Throttle: r.Throttle,
			Unpriced: Unpriced(r.Unpriced), SpentSince: r.SpentSince, ThrottledBelow: r.ThrottledBelow,
			Version: r.Version, CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt,
			Projection: forecast.Projection{BurnPerDay1h: spend.Nanos(r.BurnNanos1h), BurnPerDay24h: spend.Nanos(r.BurnNanos24h),
				BurnPerDay7d: spend.Nanos(r.BurnNanos7d), ExhaustedP50: r.ExhaustedP50, ExhaustedP90: r.ExhaustedP90,
				Verdict: forecast.Verdict(r.Verdict)}})
	}
	return list, now, nil
}

func lockBudgetsTx(ctx context.Context, tx db.Tx, workspace ids.ID, some []ids.ID) error {
	if _, err := q.BudgetLock(ctx, tx, workspace, some); err != nil {
		return err
	}
	return nil
}

// lockNewTx keeps others from making budgets until the transaction ends.
func lockNewTx(ctx context.Context, tx db.Tx, workspace ids.ID) error {
	return q.NamedLock(ctx, tx, "budgets:"+workspace.String())
}

func insertTx(ctx context.Context, tx db.Tx, workspace ids.ID, b Budget) error {
	return q.BudgetInsert(ctx, tx, dbsqlc.BudgetInsertParams{WorkspaceID: workspace, ID: b.ID, Name: b.Name, Scope: string(b.Scope),
		ProductID: orNull(b.ProductID), Phase: b.Phase, JobID: orNull(b.JobID), ScopeKey: b.scopeKey(), Period: string(b.Period),
		Timezone: b.Timezone, LimitNanos: nanos(b.Money), LimitTokens: b.Tokens, LimitRuns: b.Runs, Hard: b.Hard,
		SliceNanos: int64(b.Slice), SliceTokens: b.SliceTokens, AlertAt: append([]int{}, b.AlertAt...), Throttle: b.Throttle,
		Unpriced: string(b.Unpriced), CreatedBy: b.CreatedBy})
}

// scopeKey returns the scope as one word, as the function budget_scopes writes it.
func (b Budget) scopeKey() string {
	switch b.Scope {
	case Product:
		return "product:" + b.ProductID.String()
	case Job:
		return "job:" + b.JobID.String()
	case Milestone:
		if b.ProductID == ids.Nil {
			return "milestone::" + b.Phase
		}
		return "milestone:" + b.ProductID.String() + ":" + b.Phase
	case Workspace:
	}
	return "workspace"
}

func saveTx(ctx context.Context, tx db.Tx, workspace ids.ID, b Budget) error {
	return q.BudgetSave(ctx, tx, dbsqlc.BudgetSaveParams{WorkspaceID: workspace, ID: b.ID, Name: b.Name,
		LimitNanos: nanos(b.Money), LimitTokens: b.Tokens, LimitRuns: b.Runs, Hard: b.Hard,
		SliceNanos: int64(b.Slice), SliceTokens: b.SliceTokens, AlertAt: append([]int{}, b.AlertAt...), Throttle: b.Throttle,
		Unpriced: string(b.Unpriced), ThrottledBelow: b.ThrottledBelow})
}

// freeAllTx frees what leases have reserved of a budget, of all its periods.
func freeAllTx(ctx context.Context, tx db.Tx, workspace ids.ID, of Budget, actor string) error {
	rows, err := q.BudgetReservationsFree(ctx, tx, workspace, of.ID, actor)
	if err != nil {
		return err
	}
	list := make([]Adjustment, len(rows))
	for i, r := range rows {
		list[i] = Adjustment{Budget: of.ID, Name: of.Name, Start: r.PeriodStart, Money: spend.Nanos(r.OverNanos), Tokens: r.OverTokens}
	}
	return AdjustedTx(ctx, tx, workspace, list)
}

// productTx returns the product of that name; false where there is none.
func productTx(ctx context.Context, tx db.Tx, workspace ids.ID, name string) (ids.ID, bool, error) {
	found, err := q.BudgetProduct(ctx, tx, workspace, name)
	return one(found, err)
}

// jobTx returns the job of that key; false where there is none.
func jobTx(ctx context.Context, tx db.Tx, workspace ids.ID, key string) (ids.ID, bool, error) {
	found, err := q.BudgetJob(ctx, tx, workspace, key)
	return one(found, err)
}

func one(found []ids.ID, err error) (ids.ID, bool, error) {
	if err != nil {
		return ids.Nil, false, fmt.Errorf("scope of a budget: %w", err)
	}
	if len(found) == 0 {
		return ids.Nil, false, nil
	}
	return found[0], true, nil
}

func orNil(id *ids.ID) ids.ID {
	if id == nil {
		return ids.Nil
	}
	return *id
}

func orNull(id ids.ID) *ids.ID {
	if id == ids.Nil {
		return nil
	}
	return &id
}

func money(n *int64) *spend.Nanos {
	if n == nil {
		return nil
	}
	m := spend.Nanos(*n)
	return &m
}

func nanos(m *spend.Nanos) *int64 {
	if m == nil {
		return nil
	}
	n := int64(*m)
	return &n
}
