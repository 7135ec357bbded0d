package api

import (
	"context"
	"fmt"
)

// LeaseEnd is the body of a call that ends a lease: a *Completion, *Failure, *LeaseRelease or *Question.
type LeaseEnd interface {
	// Verb is the word for the call in what programs store.
	Verb() string
	// Shared points to the fields that all of them have.
	Shared() LeaseEndFields
	// Send makes the call, and returns the job as it is then.
	Send(ctx context.Context, c *Client) (*Job, error)
}

// LeaseEndFields are the fields of a LeaseEnd that its sender fills in, whichever it is.
type LeaseEndFields struct {
	Job   *JobRef
	Epoch *Epoch
	Next  **NextRequest
	// Checkpoint and CheckpointBlob are nil where no later attempt is to go on.
	Checkpoint     *FreeForm
	CheckpointBlob **CheckpointBlob
}

// The verbs of the calls that end a lease.
const (
	VerbComplete = "complete"
	VerbFail     = "fail"
	VerbRelease  = "release"
	VerbAsk      = "ask"
)

// NewLeaseEnd returns the empty body of the call with a verb.
func NewLeaseEnd(verb string) (LeaseEnd, error) {
	switch verb {
	case VerbComplete:
		return new(Completion), nil
	case VerbFail:
		return new(Failure), nil
	case VerbRelease:
		return new(LeaseRelease), nil
	case VerbAsk:
		return new(Question), nil
	}
	return nil, fmt.Errorf("no call ends a lease with %q", verb)
}

// Verb is VerbComplete.
func (*Completion) Verb() string { return VerbComplete }

// Verb is VerbFail.
func (*Failure) Verb() string { return VerbFail }

// Verb is VerbRelease.
func (*LeaseRelease) Verb() string { return VerbRelease }

// Verb is VerbAsk.
func (*Question) Verb() string { return VerbAsk }

// Shared points to the fields of a LeaseEnd.
func (b *Completion) Shared() LeaseEndFields {
	return LeaseEndFields{Job: &b.Job, Epoch: &b.Epoch, Next: &b.Next}
}

// Shared points to the fields of a LeaseEnd.
func (b *Failure) Shared() LeaseEndFields {
	return LeaseEndFields{Job: &b.Job, Epoch: &b.Epoch, Next: &b.Next}
}

// Shared points to the fields of a LeaseEnd.
func (b *LeaseRelease) Shared() LeaseEndFields {
	return LeaseEndFields{Job: &b.Job, Epoch: &b.Epoch, Next: &b.Next,
		Checkpoint: &b.Checkpoint, CheckpointBlob: &b.CheckpointBlob}
}

// Shared points to the fields of a LeaseEnd.
func (b *Question) Shared() LeaseEndFields {
	return LeaseEndFields{Job: &b.Job, Epoch: &b.Epoch, Next: &b.Next,
		Checkpoint: &b.Checkpoint, CheckpointBlob: &b.CheckpointBlob}
}

// Send completes the job.
func (b *Completion) Send(ctx context.Context, c *Client) (*Job, error) {
	return readJob(c.CompleteJobWithResponse(ctx, *b))
}

// Send fails the attempt.
func (b *Failure) Send(ctx context.Context, c *Client) (*Job, error) {
	return readJob(c.FailJobWithResponse(ctx, *b))
}

// Send gives the job back.
func (b *LeaseRelease) Send(ctx context.Context, c *Client) (*Job, error) {
	return readJob(c.ReleaseLeaseWithResponse(ctx, *b))
}

// Send parks the job with the question.
func (b *Question) Send(ctx context.Context, c *Client) (*Job, error) {
	return readJob(c.AskQuestionWithResponse(ctx, *b))
}

// readJob returns the job of an answer.
func readJob[A interface{ GetJSON200() *Job }](answer A, err error) (*Job, error) {
	if err != nil {
		return nil, err
	}
	return answer.GetJSON200(), nil
}
