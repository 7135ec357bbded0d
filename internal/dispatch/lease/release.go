package lease

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// ReleaseTx ends those leases of an agent that concern somebody, without blame, in the
// order in which all lock.
func ReleaseTx(ctx context.Context, tx db.Tx, who tenancy.Principal, agent ids.ID, why string, concerned func(jobs.Job) bool) (
	[]Change, error,
) {
	held, err := leasedJobs(ctx, tx, who.Workspace, agent)
	if err != nil {
		return nil, err
	}
	var released []Change
	for _, id := range held {
		locked, err := jobs.LockTx(ctx, tx, who.Workspace, id.String())
		if err != nil {
			return nil, err
		}
		if locked.Lease == nil || locked.Lease.AgentID != agent || !concerned(locked.Job) {
			continue
		}
		d, e, err := Requeue(locked, why)
		if err != nil {
			return nil, err
		}
		job, err := EndTx(ctx, tx, who, d, e)
		if err != nil {
			return nil, err
		}
		released = append(released, Change{Before: locked.Job, After: job})
	}
	return released, nil
}

// All concerns every job.
func All(jobs.Job) bool { return true }

// Requeue returns the decision to give a job back without blame, unless a person requested
// something else.
func Requeue(job jobs.Locked, why string) (jobs.Decision, AttemptEnd, error) {
	if d, e, ok, err := ApplyDirective(job.Job, why); ok {
		return d, e, err
	}
	d, err := job.Release(why)
	return d, AttemptEnd{Outcome: Released, Error: why}, err
}
