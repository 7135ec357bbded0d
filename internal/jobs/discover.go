package jobs

import (
	"context"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Filed is a job that an agent may create, as it is created then.
type Filed struct {
	Job
	// By is the job that it was found by, whose place is Lineage.
	By      Job
	Lineage Lineage
}

// Allow says whether a job that an agent wants to create may be, before it is, and
// while which other job it was found. isOwned is true where the job has no repo or
// one of its product's.
type Allow func(ctx context.Context, tx db.Tx, wanted Job, isOwned bool) (Filed, error)

// Discover is Create for an agent: one job, linked to the one that it was found by.
// Faults as of Create, and those of allow; Validation where the job would go
// without the review that its product requires.
func (s *Service) Discover(ctx context.Context, who tenancy.Principal, from *idempotency.Key, in New, allow Allow) (Created, error) {
	return s.createAll(ctx, who, from, creation{in: []New{in}, allow: allow})
}

// permit checks whether an agent may create the job, or the system its own.
func (c *creation) permit() (err error) {
	if c.system != nil {
		return c.system.Permit(c.ctx, c.tx)
	}
	if c.allow == nil {
		return nil
	}
	wanted, products := c.list[0], c.products
	at := slices.IndexFunc(products, func(p Product) bool { return p.ID == wanted.ProductID })
	if products[at].ReviewRequired && !wanted.ReviewRequired {
		return fault.Invalid("review_required", "The product %s requires a review; only people may go without.", wanted.Product)
	}
	if c.filed, err = c.allow(c.ctx, c.tx, wanted, wanted.Repo == "" || slices.Contains(products[at].Repos, wanted.Repo)); err != nil {
		return err
	}
	c.list[0] = c.filed.Job
	return nil
}

// link links the job that an agent created to the one that it was found by.
func (c *creation) link() error {
	if c.allow == nil {
		return nil
	}
	if err := saveLineageTx(c.ctx, c.tx, c.who.Workspace, c.list[0].ID, c.filed.Lineage.next()); err != nil {
		return err
	}
	l := &linking{ctx: c.ctx, tx: c.tx, who: c.who, kind: DiscoveredFrom}
	locked, err := l.lock(c.list[0].ID)
	if err != nil {
		return err
	}
	if _, err := l.insert(locked.ID, c.filed.By.ID); err != nil {
		return err
	}
	_, err = l.save(locked.linked(DiscoveredFrom, c.filed.By.Key, false))
	return err
}

// record writes what the order of a job of the system is made of.
func (c *creation) record() error {
	if c.system == nil {
		return nil
	}
	return c.system.Record(c.ctx, c.tx, c.list[0])
}
