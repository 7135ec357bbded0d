package claim

import (
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// noOrder is the error of a job of a system kind that nothing orders: what it was for was
// decided about meanwhile, or the job was made by hand before only the system could.
const noOrder = "Nothing orders this job any more: what it was to do is not approved, or was decided about."

// order finds what the jobs of system kinds among those given are to do. One without an order
// fails instead: nobody is given it. Other jobs cost no look.
func (b *claimBatch) order(given []jobs.Job) ([]jobs.Job, error) {
	var asked []ids.ID
	for _, j := range given {
		if jobs.IsSystemKind(j.Kind) {
			asked = append(asked, j.ID)
		}
	}
	if len(asked) == 0 {
		return given, nil
	}
	var err error
	if b.orders, err = mergeOrdersTx(b.ctx, b.tx, b.workspace, asked); err != nil {
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
