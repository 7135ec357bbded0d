package report

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/comments"
	"github.com/fleetboard/fleetboard/internal/jobs/evidence"
	"github.com/fleetboard/fleetboard/internal/redact"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	maxSummary = 10_000
	maxBranch  = 255
)

// Completion is the result that an agent hands in.
type Completion struct {
	Result  json.RawMessage // an object, nil for none
	Summary string
	Commit  string
	Branch  string
	URL     string
	// FilesTouched are the paths that it changed.
	FilesTouched []string
	// PatchBlob is the SHA-256 of a blob with the whole patch, ResultBlob that of one with
	// what else came of the work; "" for none.
	PatchBlob, ResultBlob string
	// Proofs show that acceptance criteria are met; ProofError is what kept proofs from being made.
	Proofs     []evidence.Proof
	ProofError string
	// DeliveryFollows: the agent reports the commit's fate with RecordDelivery, and a merge
	// waits until then.
	DeliveryFollows bool
	// Comments answer what people said about the work.
	Comments []comments.Answer
	// Next is what is wanted for the seat that becomes free, nil for nothing.
	Next *lease.Next
}

// blobs returns the blobs that it names, by their fields.
func (c Completion) blobs() map[string]string {
	return map[string]string{patchBlob: c.PatchBlob, resultBlob: c.ResultBlob}
}

func (c Completion) check() error {
	fields := fault.Problems{}
	for _, f := range []struct {
		name, value string
		limit       int
	}{{"summary", c.Summary, maxSummary}, {"commit", c.Commit, jobs.MaxCommit}, {"branch", c.Branch, maxBranch},
		{"url", c.URL, jobs.MaxURL}, {"proof_error", c.ProofError, evidence.MaxProofError}} {
		if utf8.RuneCountInString(f.value) > f.limit || !utf8.ValidString(f.value) {
			fields[f.name] = fmt.Sprintf("It must have at most %d characters of text.", f.limit)
		}
	}
	if !lease.IsWebAddress(c.URL) {
		fields["url"] = lease.NotWebAddress
	}
	for field, name := range c.blobs() {
		if _, err := blobs.ParseSum(name); name != "" && err != nil {
			fields.Add(field, notASum)
		}
	}
	checkProofs(fields, c.Proofs)
	comments.CheckAnswers(fields, c.Comments)
	fields.TouchedFiles("files_touched", c.FilesTouched, jobs.MaxFilesTouched, jobs.MaxFile)
	return fields.Err()
}

// stored returns the result as it is kept: what the agent gave, and the summary,
// commit, branch, url and blobs beside it.
func (c Completion) stored() ([]byte, error) {
	all := map[string]json.RawMessage{}
	if len(c.Result) > 0 {
		if err := json.Unmarshal(c.Result, &all); err != nil || all == nil {
			return nil, fault.Invalid("result", "It must be a JSON object.")
		}
	}
	beside := map[string]string{"summary": c.Summary, "commit": c.Commit, "branch": c.Branch, "url": c.URL, proofError: c.ProofError}
	delete(all, proofError)
	if err := writeProofs(all, c.Proofs); err != nil {
		return nil, err
	}
	for field, name := range c.blobs() {
		delete(all, field) // the job keeps only what the call names
		beside[field] = name
	}
	for name, value := range beside {
		if value == "" {
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encode result: %w", err)
		}
		all[name] = text
	}
	result, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	return result, nil
}

// Complete hands in a job: it is in review, or completed where no review is
// required, and its dependents become claimable. Said again, each end of a lease
// is answered as before; AlreadyEnded, with the detail "outcome", where the agent
// has ended the lease with other words. Faults: Validation, also for a blob that is not there,
// ProofRefused, StaleEpoch,
// LeaseExpired, Cancelled, Paused, Superseded; ChildrenOpen with the detail "children", keys,
// where the job waits for its children: the lease goes on then.
func (s *Service) Complete(ctx context.Context, who tenancy.Principal, ref lease.Ref, c Completion) (Ended, error) {
	if err := c.check(); err != nil {
		return Ended{}, err
	}
	if _, err := c.stored(); err != nil {
		return Ended{}, err
	}
	alone := c.PatchBlob+c.ResultBlob != "" || len(c.Proofs) > 0
	return s.finish(ctx, finishCall{who: who, ref: ref, next: c.Next, alone: alone, decide: func(
		ctx context.Context, tx db.Tx, job jobs.Locked, red *redact.Redactor,
	) (jobs.Decision, lease.AttemptEnd, error) {
		if err := jobs.RequireChildrenDoneTx(ctx, tx, who.Workspace, job.Job); err != nil {
			return jobs.Decision{}, lease.AttemptEnd{}, err
		}
		if err := checkVerdict(ctx, tx, who, job.Job, c.Result); err != nil {
			return jobs.Decision{}, lease.AttemptEnd{}, err
		}
		if err := refuseProofs(job.Job, c); err != nil {
			return jobs.Decision{}, lease.AttemptEnd{}, err
		}
		c := c.redacted(red)
		result, err := c.stored()
		if err != nil {
			return jobs.Decision{}, lease.AttemptEnd{}, err
		}
		d, err := job.Complete(jobs.Work{Result: result, FilesTouched: c.FilesTouched, URL: c.URL})
		if err == nil {
			err = s.nameBlobTx(ctx, tx, who, job.ID, patchBlob, c.PatchBlob)
		}
		if err == nil {
			err = s.nameBlobTx(ctx, tx, who, job.ID, resultBlob, c.ResultBlob)
		}
		if err == nil {
			err = nameProofsTx(ctx, tx, s.contents, who, job, c.Proofs)
		}
		if err == nil {
			err = comments.AnswerTx(ctx, tx, who, job.Job, c.Comments)
		}
		return d, lease.AttemptEnd{Outcome: lease.Completed, Result: result, DeliveryFollows: c.DeliveryFollows && c.Commit != ""}, err
	}, digest: func(red *redact.Redactor) ([]byte, error) {
		c := c.redacted(red)
		result, err := c.stored()
		if err != nil || len(c.FilesTouched)+len(c.Comments) == 0 {
			return digest("", result), err
		}
		if len(c.Comments) > 0 {
			return digestWords("complete", []any{string(result), c.FilesTouched, c.Comments})
		}
		return digestWords("complete", []any{string(result), c.FilesTouched})
	}})
}

// digest is by which the same words are recognised when they come again. A
// completion's are those of its result alone, without a verb.
func digest(verb string, words []byte) []byte {
	sum := sha256.New()
	sum.Write([]byte(verb))
	sum.Write(words)
	return sum.Sum(nil)
}

// digestWords is digest for words that have no stored form of their own.
func digestWords(verb string, words any) ([]byte, error) {
	text, err := json.Marshal(words)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", verb, err)
	}
	return digest(verb, text), nil
}

// Failure is what went wrong with an attempt.
type Failure struct {
	Error     string
	Kind      string
	Stack     string
	Retryable bool
	// RetryAfter is how long a provider takes no requests where a rate limit was hit: the
	// job waits as long, and the provider's other agents are given none. 0 is the job's own
	// backoff, and holds nobody else.
	RetryAfter time.Duration
	// Provider is whose rate limit that is; "" takes the agent's.
	Provider string
	// Next is what is wanted for the seat that becomes free, nil for nothing.
	Next *lease.Next `json:"-"` // no part of the words by which it is recognised
}

// check returns all that is wrong with a failure.
func (f Failure) check() error {
	p := fault.Problems{}
	if f.Error == "" || !utf8.ValidString(f.Error) {
		p.Add("error", "It must say what went wrong.")
	}
	if f.Kind != "" && !slices.Contains(jobs.FailureKinds, jobs.FailureKind(f.Kind)) {
		p.Add("kind", "It must be one of %s.", kindsOfFailures())
	}
	p.Line("provider", f.Provider, spend.MaxProvider)
	switch {
	case f.RetryAfter == 0:
	case f.Kind != string(jobs.FailedRateLimit):
		p.Add("retry_after_seconds", "It must come with the kind %s.", jobs.FailedRateLimit)
	case f.RetryAfter < jobs.MinRetryAfter || f.RetryAfter > jobs.MaxRetryAfter:
		p.Add("retry_after_seconds", "It must be %d to %d.", int(jobs.MinRetryAfter.Seconds()), int(jobs.MaxRetryAfter.Seconds()))
	}
	return p.Err()
}

func kindsOfFailures() string {
	words := make([]string, 0, len(jobs.FailureKinds))
	for _, k := range jobs.FailureKinds {
		words = append(words, string(k))
	}
	return strings.Join(words, ", ")
}

// outcome returns how an attempt ends that failed so: what is the host's is given back.
func (f Failure) outcome() string {
	if jobs.FailureKind(f.Kind).IsHosts() {
		return lease.Released
	}
	return lease.Failed
}

// Fail ends an attempt that went wrong: the job waits for its backoff, or fails
// for good. What is the host's fault ends as a release: neither failure nor loss. The lease
// ends now. Faults as of Complete.
func (s *Service) Fail(ctx context.Context, who tenancy.Principal, ref lease.Ref, f Failure) (Ended, error) {
	err := errors.Join(f.check(), lease.RequireAgent(who), ref.Check())
	if err != nil {
		return Ended{}, err
	}
	said := f
	if f.isRateLimit() && f.RetryAfter > 0 {
		if f.Provider, err = s.learnProvider(ctx, who, ref, f); err != nil {
			return Ended{}, err
		}
	}
	return s.finish(ctx, finishCall{who: who, ref: ref, next: f.Next, alone: f.holdsProvider(), decide: func(
		ctx context.Context, tx db.Tx, job jobs.Locked, red *redact.Redactor,
	) (jobs.Decision, lease.AttemptEnd, error) {
		f := f.redacted(red)
		if d, e, ok, err := lease.ApplyDirective(job.Job, f.Error); ok {
			e.Kind = f.Kind
			return d, e, err
		}
		d, err := judgeFailure(ctx, tx, who, job, f)
		if err != nil {
			return d, lease.AttemptEnd{}, err
		}
		d.Payload["kind"], d.Payload["stack"] = f.Kind, f.Stack
		return d, lease.AttemptEnd{Outcome: f.outcome(), Error: d.After.LastError, Kind: f.Kind}, nil
	}, digest: func(red *redact.Redactor) ([]byte, error) { return digestWords("fail", said.redacted(red)) }})
}

// Release is why an agent gives a job back, and where the next attempt goes on.
type Release struct {
	Reason     string
	Checkpoint json.RawMessage // nil for none
	// Next is what is wanted for the seat that becomes free, nil for nothing.
	Next *lease.Next
}

// Release gives a job back without a result and without blame; it is how an
// agent acknowledges that it was directed to pause or cancel, or gives its seat to a more
// urgent job. The lease ends now.
func (s *Service) Release(ctx context.Context, who tenancy.Principal, ref lease.Ref, r Release) (Ended, error) {
	if err := (Progress{Checkpoint: r.Checkpoint}).check(""); err != nil {
		return Ended{}, err
	}
	return s.finish(ctx, finishCall{who: who, ref: ref, next: r.Next, alone: findCheckpointBlob(r.Checkpoint) != "", decide: func(
		ctx context.Context, tx db.Tx, job jobs.Locked, red *redact.Redactor,
	) (jobs.Decision, lease.AttemptEnd, error) {
		reason := red.Text(r.Reason)
		job, err := s.keepCheckpoint(ctx, tx, who, job, red.JSON(r.Checkpoint))
		if err != nil {
			return jobs.Decision{}, lease.AttemptEnd{}, err
		}
		if d, e, ok, err := lease.ApplyDirective(job.Job, ""); ok {
			return d, e, err
		}
		if job.Lease.GivesSeat() {
			return giveSeat(ctx, tx, who.Workspace, job, reason)
		}
		d, err := job.Release(reason)
		return d, lease.AttemptEnd{Outcome: lease.Released, Error: reason}, err
	}, digest: func(red *redact.Redactor) ([]byte, error) {
		return digestWords("release", []any{red.Text(r.Reason), red.JSON(r.Checkpoint)})
	}})
}
