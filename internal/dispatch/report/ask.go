package report

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/redact"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Question is what an agent asks a person, and where the next attempt goes on.
type Question struct {
	Text       string          // 1..10,000 characters
	Checkpoint json.RawMessage // nil for none
	// Next is what is wanted for the seat that becomes free, nil for nothing.
	Next *lease.Next
}

// Ask parks a job with its holder's question: the lease ends now and frees the
// seat, the checkpoint is kept. A person's directive for the job goes first: it is
// carried out instead. Faults as of Complete, and Validation for a question of
// none or more than 10,000 characters.
func (s *Service) Ask(ctx context.Context, who tenancy.Principal, ref lease.Ref, q Question) (Ended, error) {
	question := strings.TrimSpace(q.Text)
	if question == "" || !lease.IsText(question, lease.MaxQuestion) {
		return Ended{}, fault.Invalid("question", "It must have 1 to %d characters of text.", lease.MaxQuestion)
	}
	if err := (Progress{Checkpoint: q.Checkpoint}).check(""); err != nil {
		return Ended{}, err
	}
	return s.finish(ctx, finishCall{who: who, ref: ref, next: q.Next, alone: findCheckpointBlob(q.Checkpoint) != "", decide: func(
		ctx context.Context, tx db.Tx, job jobs.Locked, red *redact.Redactor,
	) (jobs.Decision, lease.AttemptEnd, error) {
		job, err := s.keepCheckpoint(ctx, tx, who, job, red.JSON(q.Checkpoint))
		if err != nil {
			return jobs.Decision{}, lease.AttemptEnd{}, err
		}
		if d, e, ok, err := lease.ApplyDirective(job.Job, ""); ok {
			return d, e, err
		}
		d, err := job.Ask(red.Cut(question, lease.MaxQuestion))
		return d, lease.AttemptEnd{Outcome: lease.Asked}, err
	}, digest: func(red *redact.Redactor) ([]byte, error) {
		return digestWords("ask", []any{red.Text(question), red.JSON(q.Checkpoint)})
	}})
}

// keepCheckpoint stores what the next attempt is to go on from with the lease that
// ends now, which leaves it to the job.
func (s *Service) keepCheckpoint(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Locked, checkpoint json.RawMessage) (
	jobs.Locked, error,
) {
	if len(checkpoint) == 0 {
		return job, nil
	}
	// First, for what is refused here is not rolled back.
	if err := s.nameBlobTx(ctx, tx, who, job.ID, checkpointBlob, findCheckpointBlob(checkpoint)); err != nil {
		return job, err
	}
	kept := &reportItem{job: job.ID,
		reportCall: reportCall{who, lease.Ref{Epoch: job.Epoch}, report{Progress: Progress{Checkpoint: checkpoint}}}}
	if _, err := writeReports(ctx, tx, who.Workspace, []*reportItem{kept}); err != nil {
		return job, fmt.Errorf("keep checkpoint: %w", err)
	}
	return job, nil
}
