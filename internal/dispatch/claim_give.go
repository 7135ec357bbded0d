package dispatch

import (
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
)

// give writes the leases, attempts and events of what was taken, and reads the jobs.
func (r *claimRun) give() error {
	params := dbsqlc.LeasesGiveParams{WorkspaceID: r.workspace}
	for _, a := range r.asks {
		for _, id := range a.taken {
			params.JobIds = append(params.JobIds, id)
			params.AgentIds = append(params.AgentIds, a.agent.ID)
			params.Agents = append(params.Agents, a.agent.Name)
			params.FactoryIds = append(params.FactoryIds, a.agent.FactoryID)
			params.Factories = append(params.Factories, a.agent.Factory)
			params.Models = append(params.Models, a.agent.Model)
			params.SessionKeys = append(params.SessionKeys, a.in.SessionKey)
			params.RequestIds = append(params.RequestIds, a.in.RequestID)
			params.TtlSeconds = append(params.TtlSeconds, int32(a.in.TTLSeconds)) //nolint:gosec // 10..86400
		}
	}
	all := params.JobIds
	for _, a := range r.asks {
		all = append(all, a.given...) // again, to repeated requests
	}
	if len(all) == 0 {
		return nil
	}
	return r.tx.Together(r.ctx, func(tx db.Tx) error {
		if len(params.JobIds) == 0 {
			return nil
		}
		given, err := q.LeasesGive(r.ctx, tx, params)
		if err != nil {
			return fmt.Errorf("give leases: %w", err)
		}
		r.hand(given)
		return nil
	}, func(tx db.Tx) (err error) {
		r.loaded, err = jobs.LoadManyTx(r.ctx, tx, r.workspace, all)
		return err
	})
}

// hand tells the asks which of the jobs that were taken for them they got.
func (r *claimRun) hand(given []dbsqlc.LeasesGiveRow) {
	numbers := make(map[ids.ID]int64, len(given))
	for _, l := range given {
		numbers[l.JobID] = l.Number
	}
	first := map[ids.ID]int64{} // number of an agent, and of a factory
	for _, a := range r.asks {
		for _, id := range a.taken {
			number, ok := numbers[id]
			if !ok {
				continue
			}
			a.given = append(a.given, id)
			for _, holder := range []ids.ID{a.agent.ID, a.agent.FactoryID} {
				if first[holder] == 0 || number < first[holder] {
					first[holder] = number
				}
			}
		}
	}
	for _, a := range r.asks {
		if len(a.given) > 0 {
			r.s.seats.given(a.agent, first[a.agent.ID], first[a.agent.FactoryID])
		}
	}
}
