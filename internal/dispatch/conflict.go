package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// checkRef refuses a reference that cannot name a lease.
func checkRef(ref Ref) error {
	fields := map[string]string{}
	if ref.Job == "" {
		fields["job"] = "It is needed: the job's key or id."
	}
	if ref.Epoch < 1 {
		fields["epoch"] = "It is needed: the epoch that the claim gave."
	}
	if len(fields) > 0 {
		return fault.InvalidFields(fields)
	}
	return nil
}

// held checks that an agent still holds the lease that it speaks of.
func held(ctx context.Context, tx db.Tx, who tenancy.Principal, j jobs.Locked, epoch int64) error {
	l := j.Lease
	if l != nil && l.Epoch == epoch && l.AgentID == who.Agent && l.ExpiresAt.After(j.Now) {
		return nil
	}
	return conflict(ctx, tx, who, j.Job, epoch)
}

// conflict says why a lease is not the agent's any more. All answers mean: stop,
// do not retry.
func conflict(ctx context.Context, tx db.Tx, who tenancy.Principal, j jobs.Job, epoch int64) error {
	if epoch > j.Epoch {
		return fault.New(fault.StaleEpoch, "%s has not had an epoch %d.", j.Key, epoch)
	}
	if epoch < j.Epoch {
		return fault.New(fault.StaleEpoch, "%s has been given to somebody else since epoch %d.", j.Key, epoch)
	}
	attempt, err := q.AttemptGet(ctx, tx, dbsqlc.AttemptGetParams{WorkspaceID: who.Workspace, JobID: j.ID, Epoch: epoch})
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("read attempt: %w", err)
	}
	switch {
	case attempt.Outcome == outcomeCancelled:
		return fault.New(fault.Cancelled, "%s was cancelled.", j.Key)
	case attempt.Outcome == outcomePaused:
		return fault.New(fault.Paused, "%s was paused; its checkpoint is kept.", j.Key)
	case j.Lease != nil && j.Lease.AgentID != who.Agent:
		return fault.New(fault.StaleEpoch, "%s is held by another agent.", j.Key)
	}
	return fault.New(fault.LeaseExpired, "The lease on %s has ended.", j.Key)
}

// Outcomes of an attempt.
const (
	outcomeCompleted = "completed"
	outcomeFailed    = "failed"
	outcomeReleased  = "released"
	outcomeLost      = "lost"
	outcomeCancelled = "cancelled"
	outcomePaused    = "paused"
	outcomeAsked     = "asked"
	outcomeTimeout   = "timeout"
)

// ending is what closes an attempt beside the job's new status.
type ending struct {
	outcome      string
	error        string
	kind         string
	result       []byte
	resultDigest []byte
}

// endTx ends the lease of a locked job and writes the decision. The lease goes
// first: the decision is made for a job that nobody holds any more.
func endTx(ctx context.Context, tx db.Tx, who tenancy.Principal, d jobs.Decision, e ending) (jobs.Job, error) {
	ended, err := q.LeaseEnd(ctx, tx, dbsqlc.LeaseEndParams{
		WorkspaceID: who.Workspace, JobID: d.Before.ID, Epoch: d.Before.Epoch, Outcome: e.outcome,
		Error: e.error, ErrorKind: e.kind, Result: e.result, ResultDigest: e.resultDigest,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return jobs.Job{}, fault.New(fault.LeaseExpired, "The lease on %s has ended.", d.Before.Key)
	}
	if err != nil {
		return jobs.Job{}, fmt.Errorf("end lease: %w", err)
	}
	// A report that came after the job was read counts as well.
	if ended.Checkpoint != nil {
		d.After.Checkpoint = ended.Checkpoint
	}
	job, err := jobs.SaveTx(ctx, tx, who, d)
	job.Lease = nil
	return job, err
}

// carryOut is the decision that a directive asks for, once its job is to be
// taken from the agent. ok is false where there is none.
func carryOut(j jobs.Job) (d jobs.Decision, outcome string, ok bool, err error) {
	if j.Lease == nil {
		return d, "", false, nil
	}
	switch j.Lease.Directive {
	case Cancel:
		d, err = j.Cancel(j.Lease.DirectiveReason)
		outcome = outcomeCancelled
	case Pause:
		d, err = j.Pause()
		outcome = outcomePaused
	default:
		return d, "", false, nil
	}
	if err == nil {
		d.Payload["by"] = j.Lease.DirectiveBy
	}
	return d, outcome, true, err
}

func later(t time.Time) *time.Time { return &t }
