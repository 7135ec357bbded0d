package lease

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/collisions"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Outcomes of an attempt.
const (
	Completed = "completed"
	Failed    = "failed"
	Released  = "released"
	Lost      = "lost"
	Cancelled = "cancelled"
	Paused    = "paused"
	Asked     = "asked"
	TimedOut  = "timeout"
)

// MaxLogMessage bounds the message of a log line, in characters.
const MaxLogMessage = 10_000

// AttemptEnd is what closes an attempt beside the job's new status.
type AttemptEnd struct {
	Outcome string
	Error   string
	Kind    string
	Result  []byte
	Digest  []byte // of the agent's call that ended it, nil where somebody else did
	// DeliveryFollows: its agent said that it will report what becomes of its commit.
	DeliveryFollows bool
}

// End is a lease that ends: who ends it, what becomes of its job, and how.
type End struct {
	Who tenancy.Principal
	jobs.Decision
	AttemptEnd
}

// logMessage returns what the job's log says of an attempt that did not end by its agent's
// will or that failed; "" of the others.
func (e End) logMessage() string {
	what := map[string]string{Failed: "The attempt failed", Lost: "The lease was lost", TimedOut: "The attempt timed out"}[e.Outcome]
	switch {
	case e.Outcome == Released && e.Who.Kind != tenancy.KindAgent:
		what = "The job was taken back"
	case e.Outcome == Released && e.Kind != "":
		what = "The host could not work on it"
	}
	if what != "" && e.Error != "" {
		what += ": " + e.Error
	}
	if runes := []rune(what); len(runes) > MaxLogMessage {
		return string(runes[:MaxLogMessage])
	}
	return what
}

// EndTx is EndManyTx for one job, locked.
func EndTx(ctx context.Context, tx db.Tx, who tenancy.Principal, d jobs.Decision, e AttemptEnd) (jobs.Job, error) {
	after, err := EndManyTx(ctx, tx, who.Workspace, []End{{who, d, e}})
	if err != nil {
		return jobs.Job{}, err
	}
	return after[0], nil
}

// EndStrayTx writes the decision about a locked job whose lease is not there, closes its
// attempt and frees what that had reserved of budgets.
func EndStrayTx(ctx context.Context, tx db.Tx, who tenancy.Principal, d jobs.Decision, e AttemptEnd) (jobs.Job, error) {
	of := spend.Lease{Job: d.Before.ID, Epoch: d.Before.Epoch}
	if err := closeAttempt(ctx, tx, who.Workspace, of, e); err != nil {
		return jobs.Job{}, err
	}
	adjusted, err := budgeting.FreeTx(ctx, tx, who.Workspace, []spend.Lease{of})
	if err != nil {
		return jobs.Job{}, err
	}
	if err := budgets.AdjustedTx(ctx, tx, who.Workspace, adjusted); err != nil {
		return jobs.Job{}, err
	}
	return jobs.SaveTx(ctx, tx, who, d)
}

// EndManyTx ends the leases of locked jobs and writes the decisions. The leases go
// first: the decision is made for a job that nobody holds any more. The jobs are
// returned in the same order. Fault: LeaseExpired where one of them has no lease.
func EndManyTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []End) ([]jobs.Job, error) {
	var ended map[ids.ID]progress
	leases := make([]spend.Lease, 0, len(list))
	for _, e := range list {
		leases = append(leases, spend.Lease{Job: e.Before.ID, Epoch: e.Before.Epoch})
	}
	var adjusted []budgets.Adjustment
	err := tx.Pipeline(ctx, func(tx db.Tx) (err error) {
		ended, err = endLeases(ctx, tx, workspace, list)
		return err
	}, func(tx db.Tx) (err error) {
		adjusted, err = budgeting.FreeTx(ctx, tx, workspace, leases)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := budgets.AdjustedTx(ctx, tx, workspace, adjusted); err != nil {
		return nil, err
	}
	if err := endTouching(ctx, tx, workspace, list, ended); err != nil {
		return nil, err
	}
	saving := make([]jobs.Change, 0, len(list))
	for _, e := range list {
		reported, ok := ended[e.Before.ID]
		if !ok {
			return nil, fault.New(fault.LeaseExpired, "The lease on %s has ended.", e.Before.Key)
		}
		// A report that came after the job was read counts as well.
		e.After = reported.carryTo(e.Decision)
		saving = append(saving, jobs.Change{Who: e.Who, Decision: e.Decision})
	}
	after, err := jobs.SaveManyTx(ctx, tx, workspace, saving)
	for i := range after {
		after[i].Lease, after[i].ProgressAt = nil, nil
	}
	return after, err
}

// endTouching forgets what those of the ended leases have touched that said so.
func endTouching(ctx context.Context, tx db.Tx, workspace ids.ID, list []End, ended map[ids.ID]progress) error {
	var touching []collisions.End
	for _, e := range list {
		if ended[e.Before.ID].touches {
			touching = append(touching, collisions.End{Who: e.Who, Job: e.Before.ID, Repo: e.Before.Repo})
		}
	}
	if len(touching) == 0 {
		return nil
	}
	return collisions.EndTx(ctx, tx, workspace, touching)
}

// progress is what was reported under a lease until it ended.
type progress struct {
	touches    bool // files, as it said
	percent    *int
	step       string
	checkpoint []byte
}

// carryTo returns the job that was decided on with what was reported: where the decision
// does not say how far it is, it is where the lease was.
func (p progress) carryTo(d jobs.Decision) jobs.Job {
	after := d.After
	if p.checkpoint != nil {
		after.Checkpoint = p.checkpoint
	}
	if after.ProgressPercent == d.Before.ProgressPercent {
		after.ProgressPercent = p.percent
	}
	if after.CurrentStep == d.Before.CurrentStep {
		after.CurrentStep = p.step
	}
	return after
}
