package claim

import (
	"slices"

	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// products are what a batch has to know of the workspace's products.
type products struct {
	closed map[ids.ID]string // those that give nothing now, and why
	named  map[string]ids.ID // those that tokens are limited to
	held   []int64           // lanes with jobs that wait for a place in review
	proofs map[ids.ID]string // the commands that prove work, of those that have one
	// changing is set while somebody stops or releases: nothing is given out then.
	changing bool
}

// closedBy returns why a product gives no jobs now, "" where it does: of those that verify work, or of
// the others. A full review queue holds no verification: it would only stay full.
func (p products) closedBy(product ids.ID, verifies bool) string {
	if p.changing {
		return ReasonStopped
	}
	why := p.closed[product]
	if why == ReasonReviewBacklog && verifies {
		return ""
	}
	return why
}

// inScope reports whether a token with the scope reaches a product.
func (p products) inScope(of tenancy.Scope, product ids.ID) bool {
	return len(of.Products) == 0 || slices.ContainsFunc(of.Products, func(name string) bool {
		id, known := p.named[name]
		return known && id == product
	})
}

// idsInScope returns the products that a token with the scope reaches, in the order in which it names
// them; none where it reaches all.
func (p products) idsInScope(of tenancy.Scope) []ids.ID {
	list := make([]ids.ID, 0, len(of.Products))
	for _, name := range of.Products {
		list = append(list, p.named[name])
	}
	return list
}

// requireOpen refuses a named job whose product gives nothing now.
func (p products) requireOpen(job jobs.Job) error {
	switch p.closedBy(job.ProductID, job.Kind == jobs.KindVerify) {
	case ReasonStopped:
		return fault.New(fault.NotClaimable, "Work is stopped; %s waits until it is released.", job.Key).With("status", string(job.Status))
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
