package claim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/distinct"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

// waitForAgent waits for the lock of an agent's factory, then for its own.
func waitForAgent(ctx context.Context, tx db.Tx, workspace, agent ids.ID) error {
	if err := q.FactoryWait(ctx, tx, workspace, agent); err != nil {
		return err
	}
	return q.AgentWait(ctx, tx, workspace, agent)
}

// lockAgents locks agents and their factories as far as nobody else has, and returns
// the agents that it locked.
func lockAgents(ctx context.Context, tx db.Tx, workspace ids.ID, factories, agents []ids.ID) ([]ids.ID, error) {
	return q.AgentsLock(ctx, tx, workspace, factories, agents)
}

// claimant is an agent as a claim has to know it, with its factory: the seats of both, the
// leases that they have, and the number of the oldest one, 0 where there is none. Draining is
// set where either takes no new jobs.
type claimant dbsqlc.AgentsForClaimRow

// heldFor returns how long its provider takes no requests, 0 where it does now.
func (c claimant) heldFor() time.Duration {
	return time.Duration(max(0, c.HeldSeconds) * float64(time.Second))
}

// offer returns what the agent offers, within the scope of its token: another agent with
// another token may have described the factory since.
func (c claimant) offer(scope tenancy.Scope) (fleet.Offer, error) {
	var repos []fleet.Repo
	if err := json.Unmarshal(c.Repos, &repos); err != nil {
		return fleet.Offer{}, fmt.Errorf("repos of factory: %w", err)
	}
	all := fleet.Offers(c.Os, c.Engines, slices.Concat(c.FactoryCapabilities, c.Capabilities), repos)
	return fleet.Offer{Factory: c.Factory, Tokens: fleet.Within(scope, all),
		Who: distinct.Agent{Name: c.Name, Model: c.Model, Provider: c.Provider}}, nil
}

// mayFollow reports whether the agent may take a job with these needs although it follows so
// many pull requests already: one that follows as many as it may takes no further ones.
func (c claimant) mayFollow(needs []string) bool {
	return c.Follows < fleet.MaxFollowed || !slices.Contains(needs, fleet.OpensPullRequests)
}

// readClaimants reads agents, without a lock, and counts the seats that they and their
// factories have taken.
func readClaimants(ctx context.Context, tx db.Tx, workspace ids.ID, list []seatCount) (map[ids.ID]claimant, error) {
	params := dbsqlc.AgentsForClaimParams{WorkspaceID: workspace, StopLock: fleet.StopLock(workspace)}
	for _, c := range list {
		params.Ids, params.FromNumbers = append(params.Ids, c.agent), append(params.FromNumbers, c.fromNumber)
		params.Factories, params.FactoryNumbers = append(params.Factories, c.factory), append(params.FactoryNumbers, c.fromOfFactory)
	}
	rows, err := q.AgentsForClaim(ctx, tx, params)
	if err != nil {
		return nil, err
	}
	claimants := make(map[ids.ID]claimant, len(rows))
	for _, a := range rows {
		claimants[a.ID] = claimant(a)
	}
	return claimants, nil
}

// readProducts reads the products that give nothing now, those with these names, and those whose work is proved.
func readProducts(ctx context.Context, tx db.Tx, workspace ids.ID, names []string) (products, error) {
	rows, err := q.ProductsForClaim(ctx, tx, workspace, names)
	if err != nil {
		return products{}, err
	}
	p := products{closed: map[ids.ID]string{}, named: map[string]ids.ID{}, proofs: map[ids.ID]string{}}
	for _, r := range rows {
		if r.ProofCommand != "" {
			p.proofs[r.ID] = r.ProofCommand
		}
		p.named[r.Name] = r.ID
		p.held = append(p.held, r.HeldLanes...)
		switch {
		case r.IsStopped:
			p.closed[r.ID] = ReasonStopped
		case r.Paused:
			p.closed[r.ID] = ReasonPaused
		case r.IsFull:
			p.closed[r.ID] = ReasonReviewBacklog
		}
	}
	return p, nil
}

// head is the first ready job of a lane, after so many blocks of jobs that were taken
// and are not removed yet.
type head struct {
	lane int64
	readyKey
	blocks int64
}

// readHeads reads the heads of those of the lanes that have one, of each lane from its
// key on.
func readHeads(ctx context.Context, tx db.Tx, workspace ids.ID, lanes []int64, from []readyKey) ([]head, error) {
	params := dbsqlc.ReadyHeadsParams{WorkspaceID: workspace, Lanes: lanes}
	for _, k := range from {
		params.Priorities, params.Places = append(params.Priorities, k.priority), append(params.Places, k.place)
		params.TieBreaks = append(params.TieBreaks, []byte(k.tieBreak))
	}
	rows, err := q.ReadyHeads(ctx, tx, params)
	if err != nil {
		return nil, err
	}
	heads := make([]head, 0, len(rows))
	for _, r := range rows {
		heads = append(heads, head{lane: r.LaneID, readyKey: readyKey{r.Priority, r.Place, string(r.TieBreak), r.JobID}, blocks: r.Blocks})
	}
	return heads, nil
}

// takeReady takes up to n jobs of a lane out of the queue that nobody else is taking,
// from a key on and with at least a priority.
func takeReady(ctx context.Context, tx db.Tx, workspace ids.ID, lane int64, from readyKey, least int, n int) ([]readyKey, error) {
	rows, err := q.ReadyTake(ctx, tx, dbsqlc.ReadyTakeParams{WorkspaceID: workspace, LaneID: lane,
		MaxRows: n, MinPriority: least,
		FromPriority: from.priority, FromPlace: from.place, FromTieBreak: []byte(from.tieBreak)})
	if err != nil {
		return nil, err
	}
	keys := make([]readyKey, 0, len(rows))
	for _, r := range rows {
		keys = append(keys, readyKey{r.Priority, r.Place, string(r.TieBreak), r.JobID})
	}
	return keys, nil
}

// takeReadyOutside is takeReady from the top of a lane, of jobs that count for none of some
// scopes of budgets.
func takeReadyOutside(
	ctx context.Context, tx db.Tx, workspace ids.ID, lane int64, scopes []string, least int, n int,
) ([]readyKey, error) {
	rows, err := q.ReadyTakeOutside(ctx, tx, dbsqlc.ReadyTakeOutsideParams{WorkspaceID: workspace, LaneID: lane, Scopes: scopes,
		MaxScan: maxPassedOver, MaxRows: n, MinPriority: least})
	if err != nil {
		return nil, err
	}
	keys := make([]readyKey, 0, len(rows))
	for _, r := range rows {
		keys = append(keys, readyKey{r.Priority, r.Place, string(r.TieBreak), r.JobID})
	}
	return keys, nil
}

// takeJob takes one job out of the queue; false where it is not ready, or another claim
// is taking it.
func takeJob(ctx context.Context, tx db.Tx, job jobs.Job, workspace ids.ID) (bool, error) {
	n, err := q.ReadyTakeOne(ctx, tx, workspace, job.ID, job.LaneID)
	if err != nil {
		return false, fmt.Errorf("claim %s: %w", job.Key, err)
	}
	return n > 0, nil
}

// lane is a set of needs that jobs share; they are sorted.
type lane = dbsqlc.LaneListRow

// readLanes reads a workspace's lanes with higher ids than the given one, by their ids.
func readLanes(ctx context.Context, tx db.Tx, workspace ids.ID, after int64) ([]lane, error) {
	return q.LaneList(ctx, tx, workspace, after)
}

// readyLanes returns the first jobs of those of the lanes that have a claimable one, and
// the workspace's newest lane.
func readyLanes(ctx context.Context, tx db.Tx, workspace ids.ID, lanes []int64) (heads map[int64]ids.ID, newest int64, err error) {
	rows, err := q.LanesReady(ctx, tx, lanes, workspace)
	if err != nil {
		return nil, 0, err
	}
	heads = make(map[int64]ids.ID, len(rows))
	for _, r := range rows {
		heads[r.LaneID] = r.JobID
	}
	newest, err = q.LaneNewest(ctx, tx, workspace)
	if err != nil {
		return nil, 0, err
	}
	return heads, newest, nil
}

// mergeOrdersTx adds what the jobs are to merge; one that nothing orders is left out.
func mergeOrdersTx(ctx context.Context, tx db.Tx, workspace ids.ID, asked []ids.ID, orders map[ids.ID]lease.Order) error {
	rows, err := q.JobMergeOrders(ctx, tx, asked, workspace)
	for _, r := range rows {
		order := &lease.MergeOrder{Job: r.Key, Title: r.Title, URL: r.Url, By: r.MergeBy,
			Commit: r.Commit, Branch: r.Branch, Into: r.IntoBranch, Method: r.Method, Checks: r.Checks}
		if r.PullNumber > 0 {
			order.Opened = &lease.OpenedPullRequest{Number: r.PullNumber, Branch: r.PullBranch, Commit: r.PullCommit}
		}
		orders[r.MergeJobID] = lease.Order{Merge: order}
	}
	return err
}

// verifyOrdersTx adds what the jobs are to verify; one that nothing orders is left out.
func verifyOrdersTx(ctx context.Context, tx db.Tx, workspace ids.ID, asked []ids.ID, orders map[ids.ID]lease.Order) error {
	rows, err := q.JobVerifyOrders(ctx, tx, asked, workspace)
	if err != nil {
		return err
	}
	for _, r := range rows {
		order := &lease.VerifyOrder{Job: r.Key, Title: r.Title, Body: r.Body, Attempt: r.Epoch, Commit: r.Commit, Branch: r.Branch,
			DiffBlob: r.DiffBlob, Into: r.MergeInto, Checks: r.MergeChecks}
		if err := json.Unmarshal(r.Acceptance, &order.Acceptance); err != nil {
			return fmt.Errorf("acceptance of %s: %w", r.Key, err)
		}
		orders[r.VerifyJobID] = lease.Order{Verify: order}
	}
	return nil
}
