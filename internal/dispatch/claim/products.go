package claim

import (
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// readProducts reads which products give nothing now and in which lanes their jobs
// wait for that, and the products with these names.
func (b *claimBatch) readProducts(tx db.Tx, names []string) error {
	list, err := readProducts(b.ctx, tx, b.workspace, names)
	if err != nil {
		return err
	}
	b.closed, b.products, b.held = map[ids.ID]string{}, map[string]ids.ID{}, nil
	for _, p := range list {
		b.products[p.name] = p.id
		b.held = append(b.held, p.heldLanes...)
		if p.closed != "" {
			b.closed[p.id] = p.closed
		}
	}
	return nil
}

// reaches reports whether the token of an agent reaches a product.
func (b *claimBatch) reaches(c *claimItem, product ids.ID) bool {
	return len(c.Req.who.Scope.Products) == 0 || slices.ContainsFunc(c.Req.who.Scope.Products, func(name string) bool {
		id, known := b.products[name]
		return known && id == product
	})
}

// requireOpen refuses a named job whose product gives nothing now.
func (b *claimBatch) requireOpen(job jobs.Job) error {
	switch b.closed[job.ProductID] {
	case ReasonPaused:
		return fault.New(fault.NotClaimable, "The product %s is paused; %s waits until it goes on.", job.Product, job.Key).
			With("status", string(job.Status))
	case ReasonReviewBacklog:
		return fault.New(fault.NotClaimable, "The review queue of %s is full; %s waits until somebody reviews.", job.Product, job.Key).
			With("status", string(job.Status))
	}
	return nil
}

// notAffordable refuses a named job whose budget has too little left for it.
func notAffordable(job jobs.Job, why budgeting.Refusal) error {
	return fault.New(fault.NotClaimable, "%s waits for its budget. %s.", job.Key, why.Reason()).With("status", string(jobs.Waiting))
}

// notClaimable refuses a named job that is not ready, or that another claim is
// taking right now.
func notClaimable(job jobs.Job) error {
	return fault.New(fault.NotClaimable, "%s is %s and cannot be claimed.", job.Key, job.Status).With("status", string(job.Status))
}
