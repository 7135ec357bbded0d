package claim

import (
	"context"
	"maps"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/dispatch/decision"
	"github.com/fleetboard/fleetboard/internal/distinct"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// SeatsTx returns the seats of a workspace as they are, for ready jobs. Those that no claim would give out
// now are left out: of products that are stopped, paused or have a full review queue, and those
// that their budgets have too little left for.
func (s *Service) SeatsTx(ctx context.Context, tx db.Tx, workspace ids.ID, ready []ids.ID) (*decision.Seats, error) {
	b := s.newBatch(ctx, tx, workspace, nil)
	var err error
	if b.products, err = readProducts(ctx, tx, workspace, []string{}); err != nil {
		return nil, err
	}
	if b.budgets, err = budgeting.ActiveTx(ctx, tx, workspace); err != nil {
		return nil, err
	}
	open, snapshot, unpriced, err := b.compared.compare(ready, nil, false)
	if err != nil {
		return nil, err
	}
	var refused map[ids.ID]budgeting.Refusal
	if b.budgets.Any {
		if refused, err = budgeting.RefusalsTx(ctx, tx, workspace, ready); err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(open, func(id ids.ID, j decision.Job) bool {
		_, held := refused[id]
		return held || b.products.closedBy(j.ProductID, slices.ContainsFunc(j.Needs, distinct.Is)) != ""
	})
	return decision.NewSeats(snapshot, open, excludes(unpriced)), nil
}
