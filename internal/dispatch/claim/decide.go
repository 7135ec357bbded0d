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
	var taken, asking []ids.ID
	for _, i := range c.items {
		taken = append(taken, i.taken...)
		if len(i.taken) > 0 {
			asking = append(asking, i.agent.ID)
		}
	}
	if len(taken) == 0 {
		return nil
	}
	jobs, snapshot, err := c.compare(taken, asking)
	if err != nil {
		return err
	}
	for _, i := range c.items {
		for _, id := range i.taken {
			if j, known := jobs[id]; known {
				d := snapshot.Decide(j, c.settings.Weights)
				c.found = append(c.found, decision.New(snapshot, j, i.agent.Factory, d))
				snapshot.Take(i.agent.Factory, i.agent.ID)
			}
		}
	}
	return nil
}

// compare reads jobs, and the factories that could have them, with the agents that ask.
func (c *comparer) compare(list, asking []ids.ID) (map[ids.ID]decision.Job, *decision.Snapshot, error) {
	jobs, err := decision.JobsTx(c.ctx, c.tx, c.workspace, list, func(id int64) ([]string, string, error) {
		l, err := c.s.lanes.one(c.ctx, c.tx, c.workspace, id)
		return l.Needs, l.Factory, err
	})
	if err != nil {
		return nil, nil, err
	}
	barred, err := c.barred(jobs)
	if err != nil {
		return nil, nil, err
	}
	snapshot, err := c.s.reader.SnapshotTx(c.ctx, c.tx, c.workspace, asking, barred)
	return jobs, snapshot, err
}

// barred returns what says of which of the jobs' products budgets keep all jobs from an agent, since
// a model that it may run has no price; nil where they keep none from anybody.
func (c *comparer) barred(jobs map[ids.ID]decision.Job) (func(decision.Agent) []string, error) {
	if !c.budgets.HoldsUnpriced {
		return nil, nil //nolint:nilnil // nobody is barred
	}
	unpriced, err := budgeting.UnpricedTx(c.ctx, c.tx, c.workspace)
	if err != nil {
		return nil, err
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
	}, nil
}

// keep writes the decisions about the jobs that have got their leases.
func (c *comparer) keep() error {
	return decision.WriteTx(c.ctx, c.tx, c.workspace, string(c.settings.Mode), c.found)
}
