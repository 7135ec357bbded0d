package claim

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// noOrder is the error of a job of a system kind that nothing orders: what it was for was
// decided about meanwhile, or the job was made by hand before only the system could.
const noOrder = "Nothing orders this job any more: the work that it is for was decided about, or is other work by now."

// order finds what the jobs of system kinds among those given are to do. One without an order
// fails instead: nobody is given it. Other jobs cost no look.
func (b *claimBatch) order(given []jobs.Job) ([]jobs.Job, error) {
	var merges, verifications []ids.ID
	for _, j := range given {
		switch {
		case j.Kind == jobs.KindVerify:
			verifications = append(verifications, j.ID)
		case jobs.IsSystemKind(j.Kind):
			merges = append(merges, j.ID)
		}
	}
	if len(merges)+len(verifications) == 0 {
		return given, nil
	}
	var err error
	if b.orders, err = readOrdersTx(b.ctx, b.tx, b.workspace, merges, verifications); err != nil {
		return nil, err
	}
	ordered := make([]jobs.Job, 0, len(given))
	for _, j := range given {
		if _, known := b.orders[j.ID]; known || !jobs.IsSystemKind(j.Kind) {
			ordered = append(ordered, j)
		} else if err := b.failGiven(j, "orders", noOrder); err != nil {
			return nil, err
		}
	}
	return ordered, nil
}

// readOrdersTx reads what jobs are to merge, and what others are to verify.
func readOrdersTx(ctx context.Context, tx db.Tx, workspace ids.ID, merges, verifications []ids.ID) (map[ids.ID]lease.Order, error) {
	orders := map[ids.ID]lease.Order{}
	if len(merges) > 0 {
		if err := mergeOrdersTx(ctx, tx, workspace, merges, orders); err != nil {
			return nil, err
		}
	}
	if len(verifications) == 0 {
		return orders, nil
	}
	return orders, verifyOrdersTx(ctx, tx, workspace, verifications, orders)
}
