package estimates

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
)

var q = dbsqlc.New()

// extendTx takes jobs that have ended since into the history, at most so many, and
// returns how many it looked at.
func extendTx(ctx context.Context, tx db.Tx, workspace ids.ID, settle time.Duration, most int) (int, error) {
	return q.JobCostExtend(ctx, tx, workspace, settle.Seconds(), most, minutesUpTo[:])
}

// groupsTx returns the groups of each ask.
func groupsTx(ctx context.Context, tx db.Tx, workspace ids.ID, asks []Ask) ([][groups]group, error) {
	p := dbsqlc.JobCostGroupsParams{WorkspaceID: workspace, Newest: Window}
	for _, a := range asks {
		p.Kinds, p.Repos = append(p.Kinds, a.Kind), append(p.Repos, a.Repo)
		p.Complexities = append(p.Complexities, a.Step())
	}
	rows, err := q.JobCostGroups(ctx, tx, p)
	if err != nil {
		return nil, err
	}
	found := make([][groups]group, len(asks))
	for _, r := range rows {
		found[r.Question][r.Level] = group{jobs: r.Jobs, p50: r.Costs[0], p90: r.Costs[1], tokensP50: r.Tokens}
	}
	return found, nil
}

// place is where a page of the history begins.
type place struct {
	at time.Time
	id ids.ID
}

// pageTx returns the history after a place, at most so many jobs, and where it goes on.
func pageTx(ctx context.Context, tx db.Tx, workspace ids.ID, after place, most int) ([]Finished, place, error) {
	rows, err := q.JobCostAll(ctx, tx, workspace, after.at, after.id, most)
	if err != nil {
		return nil, after, err
	}
	list := make([]Finished, len(rows))
	for i, r := range rows {
		list[i] = Finished{Kind: r.Kind, Repo: r.Repo, Complexity: r.Complexity, Priority: r.Priority, Failures: r.Failures,
			Model: r.Model, Cost: spend.Nanos(r.CostNanos), Tokens: prices.Tokens{Input: r.InputTokens, CacheRead: r.CacheReadTokens,
				CacheWrite: r.CacheWriteTokens, CacheWrite1h: r.CacheWrite1hTokens, Output: r.OutputTokens}}
		after = place{r.EndedAt, r.JobID}
	}
	return list, after, nil
}

// newestTx returns the newest of the history, at most so many jobs, the oldest first. Of their
// tokens only the sum is known, as input.
func newestTx(ctx context.Context, tx db.Tx, workspace ids.ID, most int) (jobs []Finished, compared []Compared, err error) {
	rows, err := q.JobCostNewest(ctx, tx, workspace, most)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range slices.Backward(rows) {
		jobs = append(jobs, Finished{Kind: r.Kind, Repo: r.Repo, Complexity: r.Complexity, Priority: r.Priority,
			Cost: spend.Nanos(r.CostNanos), Tokens: prices.Tokens{Input: r.Tokens}})
		compared = append(compared, Compared{Key: r.Key, EndedAt: r.EndedAt, Actual: spend.Nanos(r.CostNanos)})
	}
	return jobs, compared, nil
}

// workspaces lists all.
func workspaces(ctx context.Context, d *db.DB) (list []ids.ID, err error) {
	err = d.In(ctx, db.System, func(tx db.Tx) error {
		list, err = q.WorkspaceIDs(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("workspaces: %w", err)
	}
	return list, nil
}

// slugTx returns the address of the transaction's workspace.
func slugTx(ctx context.Context, tx db.Tx, workspace ids.ID) (string, error) {
	w, err := q.WorkspaceGet(ctx, tx, workspace)
	if err != nil {
		return "", err
	}
	return w.Slug, nil
}
