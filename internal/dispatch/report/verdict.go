package report

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/verdict"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// policy is what events name as who decides about work by a verdict and by the limits of its product.
const policy = "policy"

// checkVerdict refuses the result of a verify job that is no verdict, and one of an agent that has run what
// an author of the work has run, whatever it said when it claimed the job.
func checkVerdict(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Job, result json.RawMessage) error {
	if job.Kind != jobs.KindVerify {
		return nil
	}
	of, known, err := verifiedTx(ctx, tx, who.Workspace, job.ID)
	if err != nil || !known {
		return err // nothing orders it any more: whatever it says counts for nothing
	}
	if _, err := verdict.ParseResult(result, of.acceptance); err != nil {
		return err
	}
	ran, err := authorsTx(ctx, tx, who.Workspace, job)
	for _, a := range ran {
		if a.Name == who.Name && a.Model != "" && !a.Passes(job.Capabilities) {
			return fault.New(fault.Forbidden,
				"An agent that ran %s must not verify %s: an author of the work ran it. Fail the job instead.", a.Model, of.commit)
		}
	}
	return err
}

// conclude records the verdict of a verify job that has completed, if the work still waits for it: then
// work that wants changes goes back to its agent, as long as there are rounds left. What else is decided
// is a person's.
func (b *finishBatch) conclude(done jobs.Job) ([]lease.Change, error) {
	if done.Kind != jobs.KindVerify || done.Status != jobs.Completed {
		return nil, nil
	}
	of, known, err := verifiedTx(b.ctx, b.tx, b.workspace, done.ID)
	if err != nil || !known || of.isDecided {
		return nil, err
	}
	work, err := jobs.LockTx(b.ctx, b.tx, b.workspace, of.job.String())
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	if err != nil || work.Status != jobs.InReview || work.Epoch != of.epoch {
		return nil, q.JobVerifyDecide(b.ctx, b.tx, b.workspace, done.ID)
	}
	var said verdict.Verdict
	if err := json.Unmarshal(done.Result, &said); err != nil {
		return nil, fmt.Errorf("verdict of %s: %w", done.Key, err)
	}
	return b.applyVerdict(done, work, of, said)
}

// applyVerdict writes a verdict about locked work, and sends the work back where it wants changes and there are
// rounds left; what it approves, the policy may approve.
func (b *finishBatch) applyVerdict(done jobs.Job, work jobs.Locked, of verified, said verdict.Verdict) ([]lease.Change, error) {
	product, err := jobs.ProductByIDTx(b.ctx, b.tx, b.workspace, work.ProductID)
	if err != nil {
		return nil, err
	}
	rounds := *product.Verify.Rounds
	returns := said.Verdict == verdict.Changes && of.rounds < rounds
	if counts, err := saveVerdictTx(b.ctx, b.tx, b.workspace, done, said, returns); err != nil || !counts {
		return nil, err
	}
	if err := b.tellVerdict(done, work, of, said); err != nil {
		return nil, err
	}
	if !returns {
		return b.approveVerified(product, work, of, done.StatusBy.Name, said)
	}
	d, err := work.Reject(said.Feedback(done.StatusBy.Name, of.commit, of.rounds+1, rounds+1))
	if err != nil {
		return nil, err
	}
	d.Payload["verified_by"], d.Payload["round"] = done.Key, of.rounds+1
	if err := q.AttemptReject(b.ctx, b.tx, b.workspace, work.ID, work.Epoch); err != nil {
		return nil, err
	}
	after, err := jobs.SaveTx(b.ctx, b.tx, tenancy.System(b.workspace, policy), d)
	return []lease.Change{{Before: work.Job, After: after}}, err
}

// tellVerdict records in the history of the work what its verifier said.
func (b *finishBatch) tellVerdict(done jobs.Job, work jobs.Locked, of verified, said verdict.Verdict) error {
	facts, err := json.Marshal(map[string]any{"verdict": said.Verdict, "commit": of.commit, "job": done.Key, "round": of.rounds,
		"not_met": said.CountUnmet(), "findings": len(said.Findings)})
	if err != nil {
		return fmt.Errorf("encode a verdict: %w", err)
	}
	return eventlog.AppendTx(b.ctx, b.tx, b.workspace, eventlog.Event{Type: eventlog.JobVerdictGiven, JobID: &work.ID, Actor: done.StatusBy,
		Epoch: &of.epoch, Payload: facts})
}

// verified is what a verify job verifies.
type verified struct {
	job        ids.ID
	epoch      int64
	commit     string
	acceptance []string
	isDecided  bool
	rounds     int // how often verifiers have sent the work back so far
}
