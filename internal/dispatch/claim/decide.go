package claim

import (
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/dispatch/decision"
	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// comparer finds out which factories suit the jobs of a batch.
type comparer struct {
	*claimBatch

	found []decision.Decision // about jobs that were taken
}

// shadow compares the factories for the jobs that were taken, as they are before these are leased,
// where the workspace wants to know which factory would have suited them best. It changes nothing.
func (c *comparer) shadow() error {
	if c.settings.Mode != setting.Shadow {
		return nil
	}
	var taken []ids.ID
	var asking []decision.Asker
	for _, i := range c.items {
		taken = append(taken, i.taken...)
		if len(i.taken) > 0 {
			asking = append(asking, i.toAsker())
		}
	}
	if len(taken) == 0 {
		return nil
	}
	jobs, snapshot, _, err := c.compare(taken, asking, false)
	if err != nil {
		return err
	}
	for _, i := range c.items {
		for _, id := range i.taken {
			if j, known := jobs[id]; known {
				compared := snapshot.Compare(j, c.settings.Weights)
				c.found = append(c.found, decision.New(j, i.agent.Factory, decision.ByPull, compared))
				snapshot.Take(i.agent.Factory, i.agent.ID)
			}
		}
	}
	return nil
}

// toAsker returns the agent of a claim with the seats that it has counted.
func (c *claimItem) toAsker() decision.Asker {
	return decision.Asker{Agent: c.agent.ID, Factory: c.agent.FactoryID, Free: c.ownSeats(), Taken: c.agent.FactorySeats - c.factorySeats()}
}

// compare reads jobs, and the factories that could have them, with what budgets keep from models
// without a price, nil for nothing. Where kept is set the factories may be as they were a moment ago.
func (c *comparer) compare(list []ids.ID, asking []decision.Asker, kept bool) (
	jobs map[ids.ID]decision.Job, s *decision.Snapshot, unpriced *budgeting.Unpriced, err error,
) {
	jobs, err = decision.JobsTx(c.ctx, c.tx, c.workspace, list, func(id int64) ([]string, string, error) {
		l, err := c.s.lanes.one(c.ctx, c.tx, c.workspace, id)
		return l.Needs, l.Factory, err
	})
	if err != nil {
		return nil, nil, nil, err
	}
	if c.budgets.HoldsUnpriced {
		held, err := budgeting.UnpricedTx(c.ctx, c.tx, c.workspace)
		if err != nil {
			return nil, nil, nil, err
		}
		unpriced = &held
	}
	s, err = c.s.reader.SnapshotTx(c.ctx, c.tx, c.workspace, asking, kept, barred(unpriced, jobs))
	return jobs, s, unpriced, err
}

// barred returns what says of which of the jobs' products budgets keep all jobs from an agent, since
// a model that it may run has no price; nil where they keep none from anybody.
func barred(unpriced *budgeting.Unpriced, jobs map[ids.ID]decision.Job) func(decision.Agent) []string {
	if unpriced == nil {
		return nil
	}
	products := map[string]ids.ID{}
	for _, j := range jobs {
		products[j.Product] = j.ProductID
	}
	return func(a decision.Agent) (names []string) {
		for name, id := range products {
			if _, held := unpriced.FindHolderForAll(id); held && len(unpriced.Without(a.User, id)) > 0 {
				names = append(names, name)
			}
		}
		return names
	}
}

// keep writes the decisions about the jobs that have got their leases.
func (c *comparer) keep() error {
	return decision.WriteTx(c.ctx, c.tx, c.workspace, string(c.settings.Mode), c.found)
}
