package report

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// giveSeat returns the decision about a job that is given back since its seat was asked for a more
// urgent one: it is ready again at once, and no failure or loss is counted.
func giveSeat(ctx context.Context, tx db.Tx, workspace ids.ID, job jobs.Locked, reason string) (jobs.Decision, lease.AttemptEnd, error) {
	urgent, err := giveTx(ctx, tx, workspace, job)
	if err != nil {
		return jobs.Decision{}, lease.AttemptEnd{}, err
	}
	if urgent == "" { // the request has just ended
		d, err := job.Release(reason)
		return d, lease.AttemptEnd{Outcome: lease.Released, Error: reason}, err
	}
	d, err := job.Preempt(urgent)
	return d, lease.AttemptEnd{Outcome: lease.Released, Error: "Its seat went to " + urgent + ", which is more urgent."}, err
}
