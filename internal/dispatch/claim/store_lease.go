package claim

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// repeatable is a claim whose request may have been answered before.
type repeatable struct {
	claim      *claimItem
	digests    [][]byte // by which its request may have been kept
	fromNumber int64    // its agent has no lease left before this number
}

// repeated is a lease that such a request was given.
type repeated struct {
	claim        *claimItem
	job, product ids.ID
	lane         int64
}

// leasesOfRequests finds the leases that last and that requests were given.
func leasesOfRequests(ctx context.Context, tx db.Tx, workspace ids.ID, list []repeatable) ([]repeated, error) {
	params := dbsqlc.LeasesOfRequestsParams{WorkspaceID: workspace}
	for i, r := range list {
		for _, digest := range r.digests {
			params.Asks, params.FromNumbers = append(params.Asks, i), append(params.FromNumbers, r.fromNumber)
			params.Agents = append(params.Agents, r.claim.Req.who.Agent)
			params.Requests, params.Digests = append(params.Requests, r.claim.Req.in.RequestID), append(params.Digests, digest)
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	rows, err := q.LeasesOfRequests(ctx, tx, params)
	if err != nil {
		return nil, err
	}
	given := make([]repeated, 0, len(rows))
	for _, r := range rows {
		given = append(given, repeated{claim: list[r.Ask].claim, job: r.JobID, product: r.ProductID, lane: r.LaneID})
	}
	return given, nil
}

// newLease is a job that was taken, for whom, and what its claim says for itself.
type newLease struct {
	job ids.ID
	claimant
	claimWords
	ttlSeconds int
}

// insertLeases writes leases with their attempts and events, and returns their numbers
// by job. A job that cannot be leased any more has none.
func insertLeases(ctx context.Context, tx db.Tx, workspace ids.ID, list []newLease) (map[ids.ID]int64, error) {
	p := dbsqlc.LeasesInsertParams{WorkspaceID: workspace}
	for _, l := range list {
		p.JobIds, p.AgentIds, p.Agents = append(p.JobIds, l.job), append(p.AgentIds, l.ID), append(p.Agents, l.Name)
		p.FactoryIds, p.Factories = append(p.FactoryIds, l.FactoryID), append(p.Factories, l.Factory)
		p.Models, p.SessionKeys = append(p.Models, l.Model), append(p.SessionKeys, l.session)
		p.RequestIds, p.RequestDigests = append(p.RequestIds, l.request), append(p.RequestDigests, l.digest)
		p.TtlSeconds = append(p.TtlSeconds, l.ttlSeconds)
	}
	rows, err := q.LeasesInsert(ctx, tx, p)
	if err != nil {
		return nil, err
	}
	numbers := make(map[ids.ID]int64, len(rows))
	for _, r := range rows {
		numbers[r.JobID] = r.Number
	}
	return numbers, nil
}
