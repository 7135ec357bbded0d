package report

import (
	"context"
	"encoding/hex"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/comments"
	"github.com/fleetboard/fleetboard/internal/jobs/evidence"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/redact"
)

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
		l.Message = redact.Cut(messages[i], lease.MaxLogMessage)
		l.LineID = red.Cut(l.LineID, maxLineID)
		clean = append(clean, l)
	}
	return clean
}

// redacted returns a completion without the values of the job's secrets. An address
// that is none without them is left out.
func (c Completion) redacted(red *redact.Redactor) Completion {
	c.Result, c.Summary = red.JSON(c.Result), red.Text(c.Summary)
	c.Commit, c.Branch, c.URL = red.Text(c.Commit), red.Text(c.Branch), red.Text(c.URL)
	if !lease.IsWebAddress(c.URL) {
		c.URL = ""
	}
	c.ProofError, c.Proofs = red.Cut(c.ProofError, evidence.MaxProofError), slices.Clone(c.Proofs)
	for i := range c.Proofs {
		c.Proofs[i].Commit = red.Text(c.Proofs[i].Commit)
		c.Proofs[i].Title = red.Cut(c.Proofs[i].Title, evidence.MaxProofTitle)
	}
	c.FilesTouched = slices.Clone(c.FilesTouched)
	for i, file := range c.FilesTouched {
		c.FilesTouched[i] = red.Cut(file, jobs.MaxFile)
	}
	c.Comments = slices.Clone(c.Comments)
	for i, a := range c.Comments {
		c.Comments[i].Note = red.Cut(a.Note, comments.MaxText)
	}
	return c
}

// redactNext returns what an agent wants for the seat that it frees. A request id with a secret of
// the job is known by its digest: the claim that follows does not know of that job any more.
func (s *Service) redactNext(red *redact.Redactor, call finishCall) *lease.Next {
	if call.next == nil || red.Text(call.next.RequestID) == call.next.RequestID {
		return call.next
	}
	next := *call.next
	digest := s.jobs.Secrets.Digests([]byte("claim " + call.who.Agent.String() + " " + next.RequestID))[0]
	next.RequestID = "secret-" + hex.EncodeToString(digest)
	return &next
}

// redacted returns a failure without the values of the job's secrets.
func (f Failure) redacted(red *redact.Redactor) Failure {
	f.Error, f.Kind, f.Stack, f.Provider = red.Text(f.Error), red.Text(f.Kind), red.Text(f.Stack), red.Text(f.Provider)
	return f
}
