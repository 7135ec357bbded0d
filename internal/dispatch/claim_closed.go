package dispatch

import (
	"slices"

	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
)

// closedFor says why a product's jobs are not given out now; "" where they are.
func (c *claim) closedFor(product ids.ID) string {
	switch {
	case slices.Contains(c.agent.PausedProducts, product):
		return ReasonPaused
	case slices.Contains(c.agent.FullProducts, product):
		return ReasonReviewBacklog
	}
	return ""
}

// serves reports whether the agent's token reaches a product.
func (c *claim) serves(product ids.ID) bool {
	return len(c.who.Scope.Products) == 0 || slices.Contains(c.agent.OwnProducts, product)
}

// open leaves out the heads of lanes whose product gives nothing now, and notes
// why the most urgent of them does not.
func (c *claim) open(heads []dbsqlc.ReadyHeadsRow) []dbsqlc.ReadyHeadsRow {
	left := make([]dbsqlc.ReadyHeadsRow, 0, len(heads))
	c.closed = ""
	for _, h := range heads {
		why := c.closedFor(c.products[h.LaneID])
		if why == "" {
			left = append(left, h)
		} else if c.closed == "" {
			c.closed = why
		}
	}
	return left
}

// requireOpen refuses a named job whose product gives nothing now.
func (c *claim) requireOpen(job jobs.Job) error {
	switch c.closedFor(job.ProductID) {
	case ReasonPaused:
		return fault.New(fault.NotClaimable, "The product %s is paused; %s waits until it goes on.", job.Product, job.Key).
			With("status", string(job.Status))
	case ReasonReviewBacklog:
		return fault.New(fault.NotClaimable, "The review queue of %s is full; %s waits until somebody reviews.", job.Product, job.Key).
			With("status", string(job.Status))
	}
	return nil
}
