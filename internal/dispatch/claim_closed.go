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
func (r *claimRun) readProducts(tx db.Tx, names []string) error {
	rows, err := q.ProductsForClaim(r.ctx, tx, dbsqlc.ProductsForClaimParams{WorkspaceID: r.workspace, Names: names})
	if err != nil {
		return fmt.Errorf("read products: %w", err)
	}
	r.closed, r.products, r.held = map[ids.ID]string{}, map[string]ids.ID{}, nil
	for _, p := range rows {
		r.products[p.Name] = p.ID
		r.held = append(r.held, p.HeldLanes...)
		switch {
		case p.Paused:
			r.closed[p.ID] = ReasonPaused
		case p.IsFull:
			r.closed[p.ID] = ReasonReviewBacklog
		}
	}
	return nil
}

// reaches reports whether the token of an agent reaches a product.
func (r *claimRun) reaches(a *ask, product ids.ID) bool {
	return len(a.who.Scope.Products) == 0 || slices.ContainsFunc(a.who.Scope.Products, func(name string) bool {
		id, known := r.products[name]
		return known && id == product
	})
}

// headsFor are the heads of an ask's lanes without those of products that give
// nothing now. It notes why the most urgent of these does not, or else why jobs of its
// lanes are not even ready.
func (r *claimRun) headsFor(a *ask, heads []dbsqlc.ReadyHeadsRow) []dbsqlc.ReadyHeadsRow {
	left := make([]dbsqlc.ReadyHeadsRow, 0, len(heads))
	a.closed = ""
	for _, h := range heads {
		product, served := a.products[h.LaneID]
		if !served {
			continue
		}
		why := r.closed[product]
		if why == "" {
			left = append(left, h)
		} else if a.closed == "" {
			a.closed = why
		}
	}
	for _, lane := range r.held {
		if product, served := a.products[lane]; served && a.closed == "" {
			a.closed = r.closed[product]
		}
	}
	return left
}

// requireOpen refuses a named job whose product gives nothing now.
func (r *claimRun) requireOpen(job jobs.Job) error {
	switch r.closed[job.ProductID] {
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
