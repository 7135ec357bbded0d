package dispatch

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// checkRef refuses a reference that cannot name a lease.
func checkRef(ref Ref) error {
	fields := map[string]string{}
	if ref.Job == "" {
		fields["job"] = "It must be the job's key or id."
	}
	if ref.Epoch < 1 {
		fields["epoch"] = "It must be the epoch that the claim gave."
	}
	if len(fields) > 0 {
		return fault.InvalidFields(fields)
	}
	return nil
}

// isHolder reports whether an agent still has the lease that it speaks of.
func isHolder(who tenancy.Principal, j jobs.Locked, epoch int64) bool {
	l := j.Lease
	return l != nil && l.Epoch == epoch && l.AgentID == who.Agent && l.ExpiresAt.After(j.Now)
}

// conflict says why a lease is not the agent's any more. All answers mean: stop,
// do not retry.
func conflict(ctx context.Context, tx db.Tx, who tenancy.Principal, j jobs.Job, epoch int64) error {
	attempt, err := attemptOf(ctx, tx, who.Workspace, j, epoch)
	if err != nil {
		return err
	}
	return attempt.conflict(who, j, epoch)
}

// leaseEnd is how the attempt of a lease ended.
type leaseEnd struct{ dbsqlc.AttemptEndRow }

// attemptOf reads how the attempt of a lease ended; the zero value where there was
// none.
func attemptOf(ctx context.Context, tx db.Tx, workspace ids.ID, j jobs.Job, epoch int64) (leaseEnd, error) {
	row, err := q.AttemptEnd(ctx, tx, dbsqlc.AttemptEndParams{WorkspaceID: workspace, JobID: j.ID, Epoch: epoch})
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return leaseEnd{}, fmt.Errorf("read attempt: %w", err)
	}
	return leaseEnd{row}, nil
}

// endedBy reports whether the lease was ended by its agent's own call.
func (a leaseEnd) endedBy(who tenancy.Principal) bool {
	return a.EndDigest != nil && a.Agent == who.Name
}

func (a leaseEnd) conflict(who tenancy.Principal, j jobs.Job, epoch int64) error {
	switch {
	case epoch > j.Epoch:
		return fault.New(fault.StaleEpoch, "%s has not had an epoch %d.", j.Key, epoch)
	case epoch == j.Epoch && a.Outcome == outcomeCancelled:
		return fault.New(fault.Cancelled, "%s was cancelled.", j.Key)
	case epoch == j.Epoch && a.Outcome == outcomePaused:
		return fault.New(fault.Paused, "%s was paused; its checkpoint is kept.", j.Key)
	case a.endedBy(who):
		return fault.New(fault.AlreadyEnded, "You ended the lease on %s: %s.", j.Key, a.Outcome).With("outcome", a.Outcome)
	case epoch < j.Epoch:
		return fault.New(fault.StaleEpoch, "%s has been given to somebody else since epoch %d.", j.Key, epoch)
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
	outcomeRejected  = "rejected"
)

// ending is what closes an attempt beside the job's new status.
type ending struct {
	outcome string
	error   string
	kind    string
	result  []byte
	digest  []byte // of the agent's call that ended it, nil where somebody else did
}

// end is a lease that ends: who ends it, what becomes of its job, and how.
type end struct {
	who tenancy.Principal
	jobs.Decision
	ending
}

// wrong is what the job's log says of an attempt that did not end by its agent's
// will or that failed; "" of the others.
func (e end) wrong() string {
	what := map[string]string{outcomeFailed: "The attempt failed", outcomeLost: "The lease was lost",
		outcomeTimeout: "The attempt timed out"}[e.outcome]
	if e.outcome == outcomeReleased && e.who.Kind != tenancy.KindAgent {
		what = "The job was taken back"
	}
	if what != "" && e.error != "" {
		what += ": " + e.error
	}
	if runes := []rune(what); len(runes) > maxLogMessage {
		return string(runes[:maxLogMessage])
	}
	return what
}

// endTx is endManyTx for one job, locked.
func endTx(ctx context.Context, tx db.Tx, who tenancy.Principal, d jobs.Decision, e ending) (jobs.Job, error) {
	after, err := endManyTx(ctx, tx, who.Workspace, []end{{who, d, e}})
	if err != nil {
		return jobs.Job{}, err
	}
	return after[0], nil
}

// endManyTx ends the leases of locked jobs and writes the decisions. The leases go
// first: the decision is made for a job that nobody holds any more. The jobs are
// returned in the same order.
func endManyTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []end) ([]jobs.Job, error) {
	known, err := endLeases(ctx, tx, workspace, list)
	if err != nil {
		return nil, err
	}
	saving := make([]jobs.Change, 0, len(list))
	for _, e := range list {
		lease, ended := known[e.Before.ID]
		if !ended {
			return nil, fault.New(fault.LeaseExpired, "The lease on %s has ended.", e.Before.Key)
		}
		// A report that came after the job was read counts as well.
		e.After = lease.told(e.Decision)
		saving = append(saving, jobs.Change{Who: e.who, Decision: e.Decision})
	}
	after, err := jobs.SaveManyTx(ctx, tx, workspace, saving)
	for i := range after {
		after[i].Lease, after[i].ProgressAt = nil, nil
	}
	return after, err
}

// leaseWork is what a lease knew of the work when it ended.
type leaseWork struct{ dbsqlc.LeasesEndRow }

// told is the job that was decided on with what its lease knew of the work: where
// the decision does not say how far it is, it is where the lease was.
func (l leaseWork) told(d jobs.Decision) jobs.Job {
	after := d.After
	if l.Checkpoint != nil {
		after.Checkpoint = l.Checkpoint
	}
	if after.ProgressPercent == d.Before.ProgressPercent {
		after.ProgressPercent = nil
		if l.ProgressPercent != nil {
			percent := int(*l.ProgressPercent)
			after.ProgressPercent = &percent
		}
	}
	if after.CurrentStep == d.Before.CurrentStep {
		after.CurrentStep = l.CurrentStep
	}
	return after
}

// endLeases closes the leases and their attempts, and returns what each knew of the
// work by its job.
func endLeases(ctx context.Context, tx db.Tx, workspace ids.ID, list []end) (map[ids.ID]leaseWork, error) {
	type row struct {
		JobID     ids.ID          `json:"job_id"`
		Epoch     int64           `json:"epoch"`
		Outcome   string          `json:"outcome"`
		Error     string          `json:"error"`
		ErrorKind string          `json:"error_kind"`
		Result    json.RawMessage `json:"result"`
		EndDigest *string         `json:"end_digest"`
		Wrong     string          `json:"wrong"`
	}
	params := dbsqlc.LeasesEndParams{WorkspaceID: workspace}
	rows := make([]row, 0, len(list))
	for _, e := range list {
		one := row{JobID: e.Before.ID, Epoch: e.Before.Epoch, Outcome: e.outcome, Error: e.error, ErrorKind: e.kind, Result: e.result,
			Wrong: e.wrong()}
		if e.digest != nil {
			digest := hex.EncodeToString(e.digest)
			one.EndDigest = &digest
		}
		rows, params.JobIds = append(rows, one), append(params.JobIds, one.JobID)
	}
	var err error
	if params.Endings, err = json.Marshal(rows); err != nil {
		return nil, fmt.Errorf("encode endings: %w", err)
	}
	ended, err := q.LeasesEnd(ctx, tx, params)
	if err != nil {
		return nil, fmt.Errorf("end leases: %w", err)
	}
	known := make(map[ids.ID]leaseWork, len(ended))
	for _, e := range ended {
		known[e.JobID] = leaseWork{e}
	}
	return known, nil
}

// applyDirective is the decision that a directive asks for, once its job is to be
// taken from the agent. ok is false where there is none.
func applyDirective(j jobs.Job) (d jobs.Decision, outcome string, ok bool, err error) {
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
	d.DecidedBy = j.Lease.DirectiveBy
	return d, outcome, true, err
}

func timePtr(t time.Time) *time.Time { return &t }
