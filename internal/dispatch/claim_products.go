package dispatch

import (
	"fmt"
	"slices"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
)

// readProducts reads which products give nothing now and in which lanes their jobs
// wait for that, and the products with these names.
func (b *claimBatch) readProducts(tx db.Tx, names []string) error {
	rows, err := q.ProductsForClaim(b.ctx, tx, dbsqlc.ProductsForClaimParams{WorkspaceID: b.workspace, Names: names})
	if err != nil {
		return fmt.Errorf("read products: %w", err)
	}
	b.closed, b.products, b.held = map[ids.ID]string{}, map[string]ids.ID{}, nil
	for _, p := range rows {
		b.products[p.Name] = p.ID
		b.held = append(b.held, p.HeldLanes...)
		switch {
		case p.Paused:
			b.closed[p.ID] = ReasonPaused
		case p.IsFull:
			b.closed[p.ID] = ReasonReviewBacklog
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

// notClaimable refuses a named job that is not ready, or that another claim is
// taking right now.
func notClaimable(job jobs.Job) error {
	return fault.New(fault.NotClaimable, "%s is %s and cannot be claimed.", job.Key, job.Status).With("status", string(job.Status))
}
