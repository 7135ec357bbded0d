package lease

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// scopesTx reads of jobs what a scope is about.
func scopesTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []ids.ID) ([]jobs.Job, error) {
	rows, err := q.JobScopes(ctx, tx, workspace, list)
	if err != nil {
		return nil, err
	}
	of := make([]jobs.Job, 0, len(rows))
	for _, r := range rows {
		job := jobs.Job{Product: r.Product, Spec: jobs.Spec{Capabilities: r.Capabilities}}
		if r.Factory != "" {
			job.Lease = &jobs.Lease{Factory: r.Factory}
		}
		of = append(of, job)
	}
	return of, nil
}
