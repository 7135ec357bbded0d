package dispatch

import (
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
)

// grab gives to an ask that is alone and wants one job the one that was seen, without
// taking it first. Where somebody else is faster nobody gets anything by it.
func (r *claimRun) grab() error {
	asks := r.open()
	if len(asks) != 1 || asks[0].reserved != 1 || asks[0].named != nil {
		return nil
	}
	a, heads := asks[0], r.headsFor(asks[0], r.seen)
	if len(heads) == 0 {
		return nil
	}
	head := heads[0]
	a.taken = []ids.ID{head.JobID}
	if err := r.hand(head.LaneID, head.JobID); err != nil {
		return err
	}
	if a.done = len(a.given) > 0; a.done {
		r.reached = append(r.reached, reached{head.LaneID, place{head.Priority, head.ReadyAt, head.JobID}, 0})
		return nil
	}
	a.taken, r.seen, r.loaded = nil, nil, nil
	return nil
}

// give writes the leases, attempts and events of what was taken, and reads the jobs.
func (r *claimRun) give() error {
	if len(r.loaded) > 0 {
		return nil // grab has done it
	}
	return r.hand(0)
}

// hand gives what is taken, or is foreseen to be, from a lane, and reads the jobs.
func (r *claimRun) hand(lane int64, foreseen ...ids.ID) error {
	said, err := r.words()
	if err != nil {
		return err
	}
	params := dbsqlc.LeasesGiveParams{WorkspaceID: r.workspace, Foreseen: append([]ids.ID{}, foreseen...), ForeseenLane: lane}
	for _, a := range r.asks {
		for _, id := range a.taken {
			params.JobIds = append(params.JobIds, id)
			params.AgentIds = append(params.AgentIds, a.agent.ID)
			params.Agents = append(params.Agents, a.agent.Name)
			params.FactoryIds = append(params.FactoryIds, a.agent.FactoryID)
			params.Factories = append(params.Factories, a.agent.Factory)
			params.Models = append(params.Models, a.agent.Model)
			params.SessionKeys = append(params.SessionKeys, said[a].session)
			params.RequestIds = append(params.RequestIds, said[a].request)
			params.RequestDigests = append(params.RequestDigests, said[a].digest)
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
	r.wrote = true
	return r.tx.Together(r.ctx, func(tx db.Tx) error {
		if len(params.JobIds) == 0 {
			return nil
		}
		given, err := q.LeasesGive(r.ctx, tx, params)
		if err != nil {
			return fmt.Errorf("give leases: %w", err)
		}
		r.tell(given)
		return nil
	}, func(tx db.Tx) (err error) {
		r.loaded, err = jobs.LoadManyTx(r.ctx, tx, r.workspace, all)
		return err
	})
}

// tell says to the asks which of the jobs that were taken for them they got.
func (r *claimRun) tell(given []dbsqlc.LeasesGiveRow) {
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
