package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/jobs"
	"fleetboard/internal/redact"
	"fleetboard/internal/tenancy"
)

// maxQuestion bounds a question and its answer, in characters.
const maxQuestion = 10_000

// Ask parks a job with its holder's question: the lease ends now and frees the
// seat, the checkpoint is kept. What a person asked of the job goes first: it is
// carried out instead. Faults as of Complete, and Validation for a question of
// none or more than 10,000 characters.
func (s *Service) Ask(ctx context.Context, who tenancy.Principal, ref Ref, question string, checkpoint json.RawMessage) (jobs.Job, error) {
	question = strings.TrimSpace(question)
	if question == "" || !isText(question, maxQuestion) {
		return jobs.Job{}, fault.Invalid("question", "It must have 1 to %d characters of text.", maxQuestion)
	}
	if err := (Progress{Checkpoint: checkpoint}).check(); err != nil {
		return jobs.Job{}, err
	}
	return s.finish(ctx, finishCall{who: who, ref: ref, decide: func(ctx context.Context, tx db.Tx, job jobs.Locked,
		red *redact.Redactor) (jobs.Decision, ending, error) {
		job, err := keepCheckpoint(ctx, tx, who, job, red.JSON(checkpoint))
		if err != nil {
			return jobs.Decision{}, ending{}, err
		}
		if d, outcome, ok, err := applyDirective(job.Job); ok {
			return d, ending{outcome: outcome}, err
		}
		d, err := job.Ask(red.Cut(question, maxQuestion))
		return d, ending{outcome: outcomeAsked}, err
	}, digest: func(red *redact.Redactor) ([]byte, error) {
		return digestWords("ask", []any{red.Text(question), red.JSON(checkpoint)})
	}})
}

// keepCheckpoint stores what the next attempt is to go on from with the lease that
// ends now, which hands it on to the job.
func keepCheckpoint(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Locked, checkpoint json.RawMessage) (jobs.Locked,
	error) {
	if len(checkpoint) == 0 {
		return job, nil
	}
	kept := &reportItem{who: who, ref: Ref{Epoch: job.Epoch}, report: report{Progress: Progress{Checkpoint: checkpoint}}, job: job.ID}
	params := dbsqlc.LeasesReportParams{WorkspaceID: who.Workspace}
	kept.appendTo(&params)
	if _, err := q.LeasesReport(ctx, tx, params); err != nil {
		return job, fmt.Errorf("keep checkpoint: %w", err)
	}
	return job, nil
}
