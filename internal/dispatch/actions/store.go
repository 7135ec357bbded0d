package actions

import (
	"context"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

var q = dbsqlc.New()

// holdsOrigin reports whether an agent holds a job from which another one was discovered.
func holdsOrigin(ctx context.Context, tx db.Tx, workspace, agent ids.ID, job jobs.Job) (bool, error) {
	held, err := q.LeaseOfOrigin(ctx, tx, workspace, job.ID, agent)
	if err != nil {
		return false, fmt.Errorf("look for the lease of the origin: %w", err)
	}
	return held, nil
}

// rejectAttempt marks a job's last attempt as rejected.
func rejectAttempt(ctx context.Context, tx db.Tx, workspace ids.ID, job jobs.Job) error {
	err := q.AttemptReject(ctx, tx, workspace, job.ID, job.Epoch)
	if err != nil {
		return fmt.Errorf("reject attempt: %w", err)
	}
	return nil
}

// acceptAttempt takes back that a job's last attempt was rejected.
func acceptAttempt(ctx context.Context, tx db.Tx, workspace ids.ID, job jobs.Job) error {
	err := q.AttemptAccept(ctx, tx, workspace, job.ID, job.Epoch)
	if err != nil {
		return fmt.Errorf("accept attempt: %w", err)
	}
	return nil
}

// withdrawDirective takes back what was asked of a job's lease.
func withdrawDirective(ctx context.Context, tx db.Tx, workspace, job ids.ID) error {
	err := q.LeaseUndirect(ctx, tx, workspace, job)
	if err != nil {
		return fmt.Errorf("withdraw directive: %w", err)
	}
	return nil
}
