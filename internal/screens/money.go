package screens

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
)

// Money is what a job is expected to cost, and the budgets that it counts for.
type Money struct {
	Expected estimates.Estimate
	Budgets  []budgeting.Standing
}

// EstimateAsk returns what the estimate of a job goes by.
func EstimateAsk(j jobs.Job) estimates.Ask {
	a := estimates.Ask{Kind: j.Kind, Repo: j.Repo, Priority: j.Priority, Wanted: estimates.Tier(j.Tier)}
	if j.Complexity != nil {
		a.Complexity = *j.Complexity
	}
	if j.EstimatedMinutes != nil {
		a.Minutes = *j.EstimatedMinutes
	}
	return a
}

func moneyTx(ctx context.Context, tx db.Tx, workspace ids.ID, ask estimates.Ask, of budgeting.Scope) (m Money, err error) {
	if m.Expected, err = estimates.EstimateTx(ctx, tx, workspace, ask); err != nil {
		return m, err
	}
	m.Budgets, err = budgeting.StandingsTx(ctx, tx, workspace, of)
	return m, err
}
