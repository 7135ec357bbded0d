package claim

import (
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// lease writes the leases, attempts and events of what was taken, and gives the agents
// the jobs that are theirs, the most urgent first.
func (b *claimBatch) lease() error {
	said, err := b.storedWords()
	if err != nil {
		return err
	}
	var leases []newLease
	var all []ids.ID
	for _, c := range b.items {
		for _, id := range c.taken {
			leases = append(leases, newLease{job: id, claimant: c.agent, claimWords: said[c], ttlSeconds: c.Req.in.TTLSeconds})
			all = append(all, id)
		}
	}
	for _, c := range b.items {
		all = append(all, c.given...) // again, to repeated requests
	}
	if len(all) == 0 {
		return nil
	}
	b.hasWrites = true
	var loaded []jobs.Job
	err = b.tx.Pipeline(b.ctx, func(tx db.Tx) error { return b.insertLeases(tx, leases) },
		func(tx db.Tx) (err error) {
			loaded, err = jobs.LoadManyTx(b.ctx, tx, b.workspace, all)
			return err
		})
	if err != nil {
		return err
	}
	if err := b.compared.keep(); err != nil {
		return err
	}
	if len(b.grants) > 0 {
		if err := b.reserveBudgets(); err != nil {
			return err
		}
	}
	return b.answer(loaded)
}

// insertLeases writes the leases, and notes which of the jobs that were taken for a
// claim it got.
func (b *claimBatch) insertLeases(tx db.Tx, leases []newLease) error {
	if len(leases) == 0 {
		return nil
	}
	numbers, err := insertLeases(b.ctx, tx, b.workspace, leases)
	if err != nil {
		return err
	}
	first := map[ids.ID]int64{} // number of an agent, and of a factory
	for _, c := range b.items {
		for _, id := range c.taken {
			number, ok := numbers[id]
			if !ok {
				continue
			}
			c.given = append(c.given, id)
			for _, holder := range []ids.ID{c.agent.ID, c.agent.FactoryID} {
				if first[holder] == 0 || number < first[holder] {
					first[holder] = number
				}
			}
		}
	}
	for _, c := range b.items {
		if len(c.given) > 0 && len(c.taken) > 0 {
			b.s.reader.Took(b.workspace, c.agent.ID, len(c.taken))
			b.countedAgents = append(b.countedAgents, c.agent.with(first[c.agent.ID], first[c.agent.FactoryID]))
		}
	}
	return nil
}

// answer hands the jobs to their claims, with their orders and the values of their secrets.
func (b *claimBatch) answer(loaded []jobs.Job) error {
	given := map[ids.ID]bool{}
	for _, c := range b.items {
		for _, id := range c.given {
			given[id] = true
		}
	}
	list, err := b.order(slices.DeleteFunc(loaded, func(j jobs.Job) bool { return !given[j.ID] }))
	if err != nil {
		return err
	}
	if list, err = b.reveal(list); err != nil {
		return err
	}
	byID := make(map[ids.ID]jobs.Job, len(list))
	for _, j := range list {
		byID[j.ID] = j
	}
	if err := b.keepWithin(byID); err != nil {
		return err
	}
	for _, c := range b.items {
		for _, id := range c.given {
			if j, ok := byID[id]; ok {
				c.Res.claimed.Jobs = append(c.Res.claimed.Jobs, j)
			}
		}
		c.Res.claimed.Budgets, c.Res.claimed.Orders, c.Res.claimed.Proofs = b.grants, b.orders, b.products.proofs
		slices.SortStableFunc(c.Res.claimed.Jobs, func(x, y jobs.Job) int { return y.Priority - x.Priority })
		c.Res.again = c.Res.again || len(c.given) > 0 && len(c.Res.claimed.Jobs) == 0
	}
	return nil
}
