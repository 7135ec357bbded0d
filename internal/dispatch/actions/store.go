package actions

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

var q = dbsqlc.New()

// holdsOrigin reports whether an agent holds a job from which another one was discovered.
func holdsOrigin(ctx context.Context, tx db.Tx, workspace, agent ids.ID, job jobs.Job) (bool, error) {
	return q.LeaseOfOrigin(ctx, tx, workspace, job.ID, agent)
}

// rejectAttempt marks a job's last attempt as rejected.
func rejectAttempt(ctx context.Context, tx db.Tx, workspace ids.ID, job jobs.Job) error {
	return q.AttemptReject(ctx, tx, workspace, job.ID, job.Epoch)
}

// acceptAttempt takes back that a job's last attempt was rejected.
func acceptAttempt(ctx context.Context, tx db.Tx, workspace ids.ID, job jobs.Job) error {
	return q.AttemptAccept(ctx, tx, workspace, job.ID, job.Epoch)
}

// withdrawDirective takes back what was asked of a job's lease.
func withdrawDirective(ctx context.Context, tx db.Tx, workspace, job ids.ID) error {
	return q.LeaseUndirect(ctx, tx, workspace, job)
}
