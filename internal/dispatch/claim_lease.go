package dispatch

import (
	"fmt"
	"slices"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
)

// lease writes the leases, attempts and events of what was taken, and gives the agents
// the jobs that are theirs, the most urgent first.
func (b *claimBatch) lease() error {
	said, err := b.words()
	if err != nil {
		return err
	}
	params := dbsqlc.LeasesInsertParams{WorkspaceID: b.workspace}
	for _, c := range b.items {
		for _, id := range c.taken {
			params.JobIds = append(params.JobIds, id)
			params.AgentIds = append(params.AgentIds, c.agent.ID)
			params.Agents = append(params.Agents, c.agent.Name)
			params.FactoryIds = append(params.FactoryIds, c.agent.FactoryID)
			params.Factories = append(params.Factories, c.agent.Factory)
			params.Models = append(params.Models, c.agent.Model)
			params.SessionKeys = append(params.SessionKeys, said[c].session)
			params.RequestIds = append(params.RequestIds, said[c].request)
			params.RequestDigests = append(params.RequestDigests, said[c].digest)
			params.TtlSeconds = append(params.TtlSeconds, int32(c.Req.in.TTLSeconds)) //nolint:gosec // 10..86400
		}
	}
	all := params.JobIds
	for _, c := range b.items {
		all = append(all, c.given...) // again, to repeated requests
	}
	if len(all) == 0 {
		return nil
	}
	b.wrote = true
	var loaded []jobs.Job
	err = b.tx.Together(b.ctx, func(tx db.Tx) error { return b.insertLeases(tx, params) },
		func(tx db.Tx) (err error) {
			loaded, err = jobs.LoadManyTx(b.ctx, tx, b.workspace, all)
			return err
		})
	if err != nil {
		return err
	}
	return b.give(loaded)
}

// insertLeases writes the leases, and notes which of the jobs that were taken for a
// claim it got.
func (b *claimBatch) insertLeases(tx db.Tx, params dbsqlc.LeasesInsertParams) error {
	if len(params.JobIds) == 0 {
		return nil
	}
	rows, err := q.LeasesInsert(b.ctx, tx, params)
	if err != nil {
		return fmt.Errorf("insert leases: %w", err)
	}
	numbers := make(map[ids.ID]int64, len(rows))
	for _, l := range rows {
		numbers[l.JobID] = l.Number
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
			b.s.leaseWatermarks.given(c.agent, first[c.agent.ID], first[c.agent.FactoryID])
		}
	}
	return nil
}

// give hands the jobs to their claims, with the values of their secrets.
func (b *claimBatch) give(loaded []jobs.Job) error {
	given := map[ids.ID]bool{}
	for _, c := range b.items {
		for _, id := range c.given {
			given[id] = true
		}
	}
	list, err := b.reveal(slices.DeleteFunc(loaded, func(j jobs.Job) bool { return !given[j.ID] }))
	if err != nil {
		return err
	}
	byID := make(map[ids.ID]jobs.Job, len(list))
	for _, j := range list {
		byID[j.ID] = j
	}
	for _, c := range b.items {
		for _, id := range c.given {
			if j, ok := byID[id]; ok {
				c.Res.claimed.Jobs = append(c.Res.claimed.Jobs, j)
			}
		}
		slices.SortStableFunc(c.Res.claimed.Jobs, func(x, y jobs.Job) int { return y.Priority - x.Priority })
		c.Res.again = len(c.given) > 0 && len(c.Res.claimed.Jobs) == 0
	}
	return nil
}
