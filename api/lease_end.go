package api

import (
	"context"
	"fmt"
)

// LeaseEnd is the body of a call that ends a lease: a *Completion, *Failure, *LeaseRelease or *Question.
type LeaseEnd interface {
	// Call returns the call, which has the body's values when it is sent.
	Call() LeaseEndCall
}

// LeaseEndCall is a call that ends a lease. It points to the fields of its body that the sender fills in,
// whichever call it is.
type LeaseEndCall struct {
	// Verb is the word for the call in what programs store.
	Verb  string
	Job   *JobRef
	Epoch *Epoch
	Next  **NextRequest
	// Checkpoint and CheckpointBlob are nil where no later attempt is to go on.
	Checkpoint     *FreeForm
	CheckpointBlob **CheckpointBlob
	// Send makes the call, and returns the job as it is then.
	Send func(context.Context, *Client) (*Job, error)
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
	for _, body := range []LeaseEnd{&Completion{}, &Failure{}, &LeaseRelease{}, &Question{}} {
		if body.Call().Verb == verb {
			return body, nil
		}
	}
	return nil, fmt.Errorf("no call ends a lease with %q", verb)
}

// Call returns the call that completes the job.
func (b *Completion) Call() LeaseEndCall {
	return LeaseEndCall{VerbComplete, &b.Job, &b.Epoch, &b.Next, nil, nil, send(b, (*Client).CompleteJobWithResponse)}
}

// Call returns the call that fails the attempt.
func (b *Failure) Call() LeaseEndCall {
	return LeaseEndCall{VerbFail, &b.Job, &b.Epoch, &b.Next, nil, nil, send(b, (*Client).FailJobWithResponse)}
}

// Call returns the call that gives the job back.
func (b *LeaseRelease) Call() LeaseEndCall {
	return LeaseEndCall{VerbRelease, &b.Job, &b.Epoch, &b.Next, &b.Checkpoint, &b.CheckpointBlob,
		send(b, (*Client).ReleaseLeaseWithResponse)}
}

// Call returns the call that parks the job with the question.
func (b *Question) Call() LeaseEndCall {
	return LeaseEndCall{VerbAsk, &b.Job, &b.Epoch, &b.Next, &b.Checkpoint, &b.CheckpointBlob,
		send(b, (*Client).AskQuestionWithResponse)}
}

func send[B any, A interface{ GetJSON200() *Job }](body *B, call func(*Client, context.Context, B, ...RequestEditorFn) (A, error),
) func(context.Context, *Client) (*Job, error) {
	return func(ctx context.Context, c *Client) (*Job, error) {
		answer, err := call(c, ctx, *body)
		if err != nil {
			return nil, err
		}
		return answer.GetJSON200(), nil
	}
}
