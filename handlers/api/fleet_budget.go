package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/spend"
)

// CheckBudget says before something costly whether the job's budgets have enough left for it.
func (s *reportHandlers) CheckBudget(ctx context.Context, r CheckBudgetRequestObject) (CheckBudgetResponseObject, error) {
	check := report.BudgetCheck{At: string(r.Body.At), ChangedLines: r.Body.ChangedLines}
	if r.Body.EstimateUSD != nil {
		estimate, err := spend.ParseAmount("estimate_usd", *r.Body.EstimateUSD, spend.MaxAmount)
		if err != nil {
			return nil, err
		}
		check.Estimate = &estimate
	}
	a, err := s.Dispatch.CheckBudget(ctx, principal(ctx), lease.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch}, check)
	return CheckBudget200JSONResponse{Directive: Directive(a.Directive), Reason: nilIfZero(a.Reason), Budget: a.Budget,
		RemainingUSD: dollars((*int64)(a.Remaining))}, err
}
