package spend

import (
	"context"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
)

// Usage is the sums of entries.
type Usage struct {
	Entries    int64
	Input      int64 // tokens, without those of the cache
	Output     int64
	CacheRead  int64
	CacheWrite int64
	// Cost is that of the entries with a known one; nil where none has it.
	Cost *Nanos
	// Unpriced is how many entries have no known cost, and so are missing in Cost.
	Unpriced int64
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

// Lease names a lease of a job.
type Lease struct {
	Job   ids.ID
	Epoch int64
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
		all[Lease{r.JobID, r.Epoch}] = Usage{Entries: r.Entries, Input: r.InputTokens, Output: r.OutputTokens, CacheRead: r.CacheReadTokens,
			CacheWrite: r.CacheWriteTokens, Unpriced: r.Unpriced}.costing(r.CostNanos)
	}
	return all, nil
}

// costing is u with the cost of its priced entries.
func (u Usage) costing(nanos int64) Usage {
	if cost := Nanos(nanos); u.Entries > u.Unpriced {
		u.Cost = &cost
	}
	return u
}
