package spend

import (
	"context"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
)

var q = dbsqlc.New()

// numbers are what is counted of an entry.
type numbers struct{ input, output, cacheRead, cacheWrite, cost int64 }

// priced is an entry with its cost.
type priced struct {
	Entry

	cost Nanos
}

// insertTx adds the entries that are not there yet and raises the sums of their
// leases. It returns the ids of those that were added.
func insertTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []priced) ([]string, error) {
	p := dbsqlc.UsageRecordParams{WorkspaceID: workspace}
	for _, e := range list {
		p.Ids, p.JobIds, p.Epochs = append(p.Ids, e.ID), append(p.JobIds, e.Job), append(p.Epochs, e.Epoch)
		p.AgentIds, p.ProductIds = append(p.AgentIds, e.Agent), append(p.ProductIds, e.Product)
		p.Providers, p.Models = append(p.Providers, e.Provider), append(p.Models, e.Model)
		p.ProviderSessions, p.Operations = append(p.ProviderSessions, e.Session), append(p.Operations, e.Operation)
		p.InputTokens, p.OutputTokens = append(p.InputTokens, e.Input), append(p.OutputTokens, e.Output)
		p.CacheReadTokens, p.CacheWriteTokens = append(p.CacheReadTokens, e.CacheRead), append(p.CacheWriteTokens, e.CacheWrite)
		p.CostNanos, p.Ats = append(p.CostNanos, int64(e.cost)), append(p.Ats, e.At)
	}
	added, err := q.UsageRecord(ctx, tx, p)
	if err != nil {
		return nil, fmt.Errorf("record usage: %w", err)
	}
	return added, nil
}

// numbersTx reads the numbers of entries by their ids.
func numbersTx(ctx context.Context, tx db.Tx, workspace ids.ID, entries []string) (map[string]numbers, error) {
	rows, err := q.UsageNumbers(ctx, tx, dbsqlc.UsageNumbersParams{WorkspaceID: workspace, Ids: entries})
	if err != nil {
		return nil, fmt.Errorf("read usage: %w", err)
	}
	kept := make(map[string]numbers, len(rows))
	for _, r := range rows {
		kept[r.ID] = numbers{r.InputTokens, r.OutputTokens, r.CacheReadTokens, r.CacheWriteTokens, r.CostNanos}
	}
	return kept, nil
}

// OfJobTx is the usage of all attempts on a job. A cost that is beyond a number is
// the greatest one.
func OfJobTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) (Usage, error) {
	r, err := q.UsageOfJob(ctx, tx, dbsqlc.UsageOfJobParams{WorkspaceID: workspace, JobID: job})
	if err != nil {
		return Usage{}, fmt.Errorf("usage of a job: %w", err)
	}
	return Usage{Entries: r.Entries, Input: r.InputTokens, Output: r.OutputTokens, CacheRead: r.CacheReadTokens,
		CacheWrite: r.CacheWriteTokens, Unpriced: r.Unpriced}.costing(r.CostNanos), nil
}

// OfAttemptsTx is the usage of all attempts on a job, and of each of those with the
// epochs that used something.
func OfAttemptsTx(ctx context.Context, tx db.Tx, workspace, job ids.ID, epochs []int64) (used JobUsage, err error) {
	if used.Total, err = OfJobTx(ctx, tx, workspace, job); err != nil || used.Total.Entries == 0 || len(epochs) == 0 {
		return used, err
	}
	leases := make([]Lease, len(epochs))
	for i, epoch := range epochs {
		leases[i] = Lease{Job: job, Epoch: epoch}
	}
	found, err := OfLeasesTx(ctx, tx, workspace, leases)
	used.Attempts = make(map[int64]Usage, len(found))
	for l, one := range found {
		used.Attempts[l.Epoch] = one
	}
	return used, err
}

// OfLeasesTx is the usage under leases; those that used nothing are not in there.
func OfLeasesTx(ctx context.Context, tx db.Tx, workspace ids.ID, leases []Lease) (map[Lease]Usage, error) {
	p := dbsqlc.UsageOfLeasesParams{WorkspaceID: workspace}
	for _, l := range leases {
		p.JobIds, p.Epochs = append(p.JobIds, l.Job), append(p.Epochs, l.Epoch)
	}
	rows, err := q.UsageOfLeases(ctx, tx, p)
	if err != nil {
		return nil, fmt.Errorf("usage of leases: %w", err)
	}
	all := make(map[Lease]Usage, len(rows))
	for _, r := range rows {
		all[Lease{r.JobID, r.Epoch}] = Usage{Entries: r.Entries, Input: r.InputTokens, Output: r.OutputTokens,
			CacheRead: r.CacheReadTokens, CacheWrite: r.CacheWriteTokens, Unpriced: r.Unpriced}.costing(r.CostNanos)
	}
	return all, nil
}
