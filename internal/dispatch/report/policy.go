package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/autoapprove"
	"github.com/fleetboard/fleetboard/internal/jobs/evidence"
	"github.com/fleetboard/fleetboard/internal/jobs/verdict"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// approveVerified approves locked work that a verifier has approved, where the limits of its product let it
// pass; else its history says which limit leaves it to a person.
func (b *finishBatch) approveVerified(product jobs.Product, work jobs.Locked, of verified, by string, said verdict.Verdict) (
	[]lease.Change, error,
) {
	if !product.AutoApprove.Enabled || said.Verdict != verdict.Approve {
		return nil, nil
	}
	facts := evidence.FromVerdict(said, by, of.commit, product.Checks)
	if work.HandedIn() != of.commit {
		facts.Persons = append(facts.Persons, "Another commit was handed in meanwhile.")
	}
	if !slices.Equal(work.Acceptance, of.acceptance) {
		facts.Persons = append(facts.Persons, "Its criteria have changed since it was handed in.")
	}
	return b.applyPolicy(product, work, facts)
}

// approveUnverified does so for work that nobody verifies, by what its author says of it, where its product wants
// no verdict.
func (b *finishBatch) approveUnverified(after jobs.Job) ([]lease.Change, error) {
	if !isForPolicy(after) {
		return nil, nil
	}
	product, err := jobs.ProductByIDTx(b.ctx, b.tx, b.workspace, after.ProductID)
	if err != nil || !product.AutoApprove.ApprovesUnverified() {
		return nil, err
	}
	work, err := jobs.LockTx(b.ctx, b.tx, b.workspace, after.ID.String())
	if err != nil {
		return nil, err
	}
	return b.applyPolicy(product, work, evidence.FromResult(work.Result, product.Checks))
}

// isForPolicy reports whether the policy decides about work as soon as it is handed in.
func isForPolicy(j jobs.Job) bool {
	return j.ApprovesUnverified && j.Status == jobs.InReview && j.VerifyMode != jobs.VerifyByAgent && !jobs.IsSystemKind(j.Kind)
}

// applyPolicy approves locked work within the limits of its product, as the actor policy.
func (b *finishBatch) applyPolicy(product jobs.Product, work jobs.Locked, facts autoapprove.Facts) ([]lease.Change, error) {
	persons, err := b.askPersons(product, work)
	if err != nil {
		return nil, err
	}
	facts.Persons = append(facts.Persons, persons...)
	who, outcome := tenancy.System(b.workspace, policy), product.AutoApprove.Decide(facts)
	if !outcome.Passed {
		return nil, b.tellHeld(work, facts.Commit, outcome)
	}
	d, err := work.Approve(facts.Commit)
	if err != nil {
		return nil, err
	}
	d.Payload["reason"], d.Payload["limits"] = autoapprove.Say(outcome.Limits), outcome.Limits
	after, err := jobs.SaveTx(b.ctx, b.tx, who, d)
	return []lease.Change{{Before: work.Job, After: after}}, err
}

// askPersons returns what people have said by which the decision is theirs, a sentence each.
func (b *finishBatch) askPersons(product jobs.Product, work jobs.Locked) (said []string, err error) {
	stops, err := fleet.StopsTx(b.ctx, b.tx, b.workspace)
	if err != nil {
		return nil, err
	}
	spoken, err := q.JobSpokenAbout(b.ctx, b.tx, b.workspace, work.ID)
	if err != nil {
		return nil, err
	}
	if product.Paused {
		said = append(said, "Its product is paused.")
	}
	if stops.Covering(work.ProductID) != nil {
		said = append(said, "Work on it is stopped.")
	}
	if work.ReviewOverride != nil && *work.ReviewOverride {
		said = append(said, "The job itself wants a person's review.")
	}
	if spoken {
		said = append(said, "A person has sent it back or asked for more of it before.")
	}
	return said, nil
}

// tellHeld records in the history of the work which limits leave it to a person.
func (b *finishBatch) tellHeld(work jobs.Locked, commit string, outcome autoapprove.Outcome) error {
	facts, err := json.Marshal(map[string]any{"commit": commit, "reason": autoapprove.Say(outcome.Held()), "limits": outcome.Limits})
	if err != nil {
		return fmt.Errorf("encode limits: %w", err)
	}
	facts = []byte(strings.ToValidUTF8(string(facts), "?"))
	return eventlog.AppendTx(b.ctx, b.tx, b.workspace, eventlog.Event{Type: eventlog.JobPolicyHeld, JobID: &work.ID,
		Actor: tenancy.System(b.workspace, policy).Actor(), Epoch: &work.Epoch, Payload: facts})
}
