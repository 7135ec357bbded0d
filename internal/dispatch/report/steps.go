package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/transcript"
	"github.com/fleetboard/fleetboard/internal/redact"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// WriteSteps adds steps to the transcript of the attempt that an agent works on, without the values of the
// job's secrets. Steps that the transcript has are kept as they are, and may be sent again after the lease has
// ended. Those beyond the limits of the transcript are left out, and the answer says how many. Faults as of
// Progress, and StepGap where steps before them are missing.
func (s *Service) WriteSteps(ctx context.Context, who tenancy.Principal, ref lease.Ref, steps []transcript.Step) (lease.Status, error) {
	if err := errors.Join(lease.RequireAgent(who), ref.Check()); err != nil {
		return lease.Status{}, err
	}
	if err := transcript.Check(steps); err != nil {
		return lease.Status{}, err
	}
	var status lease.Status
	var job ids.ID
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		agent, err := lease.TouchTx(ctx, tx, who)
		if err != nil {
			return err
		}
		id, key, hasSecrets, err := jobOfLog(ctx, tx, who.Workspace, ref.Job)
		if err != nil {
			return err
		}
		job = id
		written := steps
		if hasSecrets {
			red, err := s.jobs.Secrets.RedactorTx(ctx, tx, who.Workspace, job)
			if err != nil {
				return err
			}
			written = redactSteps(red, steps)
		}
		status, err = s.appendStepsTx(ctx, tx, who, job, ref, written)
		status.Job, status.Directive = key, cmp.Or(status.Directive, lease.Unasked(agent.Draining))
		return err
	})
	if err == nil {
		s.wake.Publish(transcript.Topic(who.Workspace, job, ref.Epoch))
	}
	return status, err
}

// appendStepsTx adds steps under the lease, which stays locked until they are committed.
func (s *Service) appendStepsTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, ref lease.Ref,
	steps []transcript.Step) (lease.Status, error) {
	of := transcript.Attempt{Workspace: who.Workspace, Job: job, Epoch: ref.Epoch}
	status, held, err := lockStepsTx(ctx, tx, who, of)
	if err != nil {
		return lease.Status{}, err
	}
	if !held {
		now, err := jobs.LoadTx(ctx, tx, who.Workspace, job.String())
		if err != nil {
			return lease.Status{}, err
		}
		return knownStepsTx(ctx, tx, of, steps, lease.Conflict(ctx, tx, who, now, ref.Epoch))
	}
	for i, step := range steps {
		if err := s.nameBlobTx(ctx, tx, who, job, fmt.Sprintf("steps[%d].blob", i), step.Blob); err != nil {
			return lease.Status{}, err
		}
	}
	added, err := transcript.AppendTx(ctx, tx, of, steps)
	status.NextStep, status.StepsLeftOut = added.Next, added.LeftOut
	return status, err
}

// knownStepsTx answers steps that come after their agent has ended the lease: they may be those of a call whose
// answer was lost. Steps that are not kept get the refusal, and so do those of whoever had another lease.
func knownStepsTx(ctx context.Context, tx db.Tx, of transcript.Attempt, steps []transcript.Step, refusal error) (lease.Status, error) {
	if !fault.Is(refusal, fault.AlreadyEnded) {
		return lease.Status{}, refusal
	}
	last, err := transcript.LastTx(ctx, tx, of)
	if err != nil {
		return lease.Status{}, err
	}
	if steps[len(steps)-1].N > last {
		return lease.Status{}, refusal
	}
	return lease.Status{Epoch: of.Epoch, Directive: lease.Continue, NextStep: last + 1}, nil
}

// redactSteps are steps without the values of a job's secrets, also without those that begin in one text and end
// in another, of this call or of the next.
func redactSteps(red *redact.Redactor, steps []transcript.Step) []transcript.Step {
	texts := make([]string, 0, 2*len(steps))
	for _, s := range steps {
		texts = append(texts, s.Title)
	}
	for _, s := range steps {
		texts = append(texts, s.Text)
	}
	texts = red.Lines(texts)
	clean := make([]transcript.Step, 0, len(steps))
	for i, s := range steps {
		s.Title = redact.Cut(texts[i], transcript.MaxTitle)
		s.Text = redact.Cut(texts[len(steps)+i], transcript.MaxText)
		s.Tool, s.Path = red.Cut(s.Tool, transcript.MaxTool), red.Cut(s.Path, transcript.MaxPath)
		clean = append(clean, s)
	}
	return clean
}

// WatchSteps notifies of steps that are written to the transcript of an attempt, by any process; with epoch 0
// of any attempt on its job. written gets a token for one or many of them, and one now and then for none. cancel ends it.
func (s *Service) WatchSteps(of transcript.Attempt) (written <-chan struct{}, cancel func()) {
	return s.watch(transcript.Topic(of.Workspace, of.Job, of.Epoch))
}
