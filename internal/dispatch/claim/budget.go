package claim

import (
	"slices"

	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// afford decides which of the jobs that were taken their budgets have enough left for, in the
// order in which they were taken. The others wait for a budget, and whoever got nothing
// but such looks again.
func (b *claimBatch) afford() error {
	if !b.budgets.Any {
		return nil
	}
	var taken []ids.ID
	for _, c := range b.items {
		taken = append(taken, c.taken...)
	}
	if len(taken) == 0 {
		return nil
	}
	grants, refused, err := budgeting.DecideTx(b.ctx, b.tx, b.workspace, taken)
	if err != nil {
		return err
	}
	b.grants = grants
	for _, c := range b.items {
		if err := b.withhold(c, refused); err != nil {
			return err
		}
	}
	return nil
}

// withhold takes from a claim the jobs that have too little left in their budgets.
func (b *claimBatch) withhold(c *claimItem, refused map[ids.ID]budgeting.Refusal) error {
	var last budgeting.Refusal
	for _, id := range c.taken {
		r, no := refused[id]
		if !no {
			continue
		}
		last = r
		if err := b.hold(id, r); err != nil {
			return err
		}
	}
	c.taken = slices.DeleteFunc(c.taken, func(id ids.ID) bool { _, no := refused[id]; return no })
	switch {
	case last.Name == "" || len(c.taken) > 0:
	case c.named != nil:
		c.Err = notAffordable(*c.named, last)
	default:
		c.Res.claimed.Reason, c.Res.again = ReasonBudget, true
	}
	return nil
}

// hold keeps a job that was taken out of the queue from being claimed until its budget
// has enough left.
func (b *claimBatch) hold(id ids.ID, r budgeting.Refusal) error {
	job, err := jobs.LockTx(b.ctx, b.tx, b.workspace, id.String())
	if err != nil {
		return err
	}
	d, err := job.Hold(jobs.WaitBudget)
	if err != nil {
		return err
	}
	d.Payload["budget"], d.Payload["reason"] = r.Name, r.Reason()
	held, err := jobs.SaveTx(b.ctx, b.tx, tenancy.System(b.workspace, budgeting.Actor), d)
	if err != nil {
		return err
	}
	b.hasWrites = true
	b.failedInstead = append(b.failedInstead, lease.Change{Before: job.Job, After: held})
	return nil
}

// keepWithin narrows what new leases may spend by their jobs' own ceilings.
func (b *claimBatch) keepWithin(byID map[ids.ID]jobs.Job) error {
	var own []jobs.Job
	var again []ids.ID // a first attempt has cost nothing yet
	for _, c := range b.items {
		for _, id := range c.given {
			j, ok := byID[id]
			if !ok || c.done || j.BudgetNanos == nil {
				continue
			}
			if own = append(own, j); j.Epoch > 1 {
				again = append(again, id)
			}
		}
	}
	spent, err := spend.OfJobsTx(b.ctx, b.tx, b.workspace, again)
	if err != nil || len(own) == 0 {
		return err
	}
	if b.grants == nil {
		b.grants = map[ids.ID]budgeting.Grant{}
	}
	for _, j := range own {
		b.grants[j.ID] = b.grants[j.ID].Within(j.Key, spend.Nanos(*j.BudgetNanos)-spent[j.ID].Cost)
	}
	return nil
}

// reserveBudgets reserves slices for the jobs that got their leases.
func (b *claimBatch) reserveBudgets() error {
	var given []budgeting.Grant
	for _, c := range b.items {
		for _, id := range c.taken {
			if g, known := b.grants[id]; known && slices.Contains(c.given, id) {
				given = append(given, g)
			}
		}
	}
	return budgeting.ReserveTx(b.ctx, b.tx, b.workspace, given)
}
