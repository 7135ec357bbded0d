package dispatch

import (
	"context"
	"slices"

	"fleetboard/db"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/jobs/joblog"
	"fleetboard/internal/redact"
	"fleetboard/internal/tenancy"
)

// brokenSecrets is the error of a job whose secrets were damaged where they are
// kept.
const brokenSecrets = "The job's secrets cannot be read: what is kept of them was changed or moved. Create the job again with its secrets."

// redactor takes the values of a job's secrets out of what its agent writes; nil
// where it has none.
func (s *Service) redactor(ctx context.Context, tx db.Tx, workspace ids.ID, job jobs.Job) (*redact.Redactor, error) {
	if len(job.SecretKeys) == 0 {
		return nil, nil
	}
	return s.jobs.Secrets.RedactorTx(ctx, tx, workspace, job.ID)
}

// redactLines are log lines without the values of a job's secrets, also without those
// that begin in one line and end in another, of this call or of the next.
func redactLines(red *redact.Redactor, lines []joblog.Line) []joblog.Line {
	messages := make([]string, 0, len(lines))
	for _, l := range lines {
		messages = append(messages, l.Message)
	}
	messages = red.Lines(messages)
	clean := make([]joblog.Line, 0, len(lines))
	for i, l := range lines {
		l.Event, l.Details = red.Cut(l.Event, maxLogEvent), red.JSON(l.Details)
		l.Message = redact.Cut(messages[i], maxLogMessage)
		l.LineID = red.Cut(l.LineID, maxLineID)
		clean = append(clean, l)
	}
	return clean
}

// redacted is a completion without the values of the job's secrets. An address
// that is none without them is left out.
func (c Completion) redacted(red *redact.Redactor) Completion {
	c.Result, c.Summary = red.JSON(c.Result), red.Text(c.Summary)
	c.Commit, c.Branch, c.URL = red.Text(c.Commit), red.Text(c.Branch), red.Text(c.URL)
	if !isWebAddress(c.URL) {
		c.URL = ""
	}
	c.FilesTouched = slices.Clone(c.FilesTouched)
	for i, file := range c.FilesTouched {
		c.FilesTouched[i] = red.Cut(file, jobs.MaxFile)
	}
	return c
}

// redacted is a failure without the values of the job's secrets.
func (f Failure) redacted(red *redact.Redactor) Failure {
	f.Error, f.Kind, f.Stack = red.Text(f.Error), red.Text(f.Kind), red.Text(f.Stack)
	return f
}

// reveal adds the values of secrets to the jobs that the agent got. A job whose
// secrets are damaged fails instead: as the most urgent one of its lane it would
// keep all others from being given.
func (b *claimBatch) reveal(given []jobs.Job) ([]jobs.Job, error) {
	given, broken, err := b.s.jobs.RevealTx(b.ctx, b.tx, b.workspace, given)
	if err != nil {
		return nil, err
	}
	system := tenancy.System(b.workspace, "secrets")
	for _, j := range broken {
		job, err := jobs.LockTx(b.ctx, b.tx, b.workspace, j.ID.String())
		if err != nil {
			return nil, err
		}
		d, err := job.Fail(job.Now, false, jobs.FailedOther, brokenSecrets)
		if err != nil {
			return nil, err
		}
		failed, err := endTx(b.ctx, b.tx, system, d, ending{outcome: outcomeFailed, error: brokenSecrets, kind: string(jobs.FailedOther)})
		if err != nil {
			return nil, err
		}
		b.broken = append(b.broken, change{before: job.Job, after: failed})
	}
	return given, nil
}
