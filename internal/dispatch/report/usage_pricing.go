package report

import (
	"context"
	"errors"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// pricedAtOnce is how many entries one transaction prices.
	pricedAtOnce = 500
	// pricer is what events name as who prices usage.
	pricer = "prices"
)

// PriceUsage prices what was used without a known cost, in all workspaces that have saved
// prices since, and charges the budgets. It returns how many entries it priced. A
// workspace that fails keeps no other from its turn.
func (s *Service) PriceUsage(ctx context.Context) (total int, err error) {
	list, err := spend.ToPrice(ctx, s.db)
	for _, workspace := range list {
		for more := true; more && ctx.Err() == nil; {
			var n int
			var failed error
			n, more, failed = s.priceSome(ctx, workspace)
			total, err = total+n, errors.Join(err, failed)
		}
	}
	return total, err
}

func (s *Service) priceSome(ctx context.Context, workspace ids.ID) (n int, more bool, err error) {
	var done spend.Priced
	var charged budgeting.Charged
	err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		if done, err = spend.PriceTx(ctx, tx, workspace, pricedAtOnce); err != nil || done.Entries == 0 {
			return err
		}
		if charged, err = budgeting.ChargeTx(ctx, tx, workspace, done.Charges); err != nil {
			return err
		}
		return eventlog.RecordTx(ctx, tx, tenancy.System(workspace, pricer), eventlog.UsagePriced,
			map[string]any{"entries": done.Entries, "cost_usd": done.Cost.USD()})
	})
	if err != nil {
		return 0, false, err
	}
	var jobs []ids.ID
	for _, ch := range done.Charges {
		jobs = append(jobs, ch.Job)
	}
	s.effects.KeepBudgets(ctx, workspace, jobs)
	s.effects.DirectForBudgets(ctx, workspace, charged)
	return done.Entries, done.More, nil
}
