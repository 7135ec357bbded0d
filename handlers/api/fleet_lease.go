package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/jobs/evidence"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
)

// reportHandlers answer what agents report of the jobs that they hold.
type reportHandlers struct {
	*Deps
	reports map[string]*openapi3.Schema // the bodies of a batch's items, by verb
}

// StartJob says that work on a claimed job begins.
func (s *reportHandlers) StartJob(ctx context.Context, r StartJobRequestObject) (StartJobResponseObject, error) {
	standing, err := s.Dispatch.Start(ctx, principal(ctx), lease.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch}, toModelRun(r.Body.Model))
	return StartJob200JSONResponse(toStanding(standing)), err
}

// toModelRun returns what an agent says of the model that it runs; nil where it says nothing.
func toModelRun(in *ModelRun) *attempts.ModelRun {
	if in == nil {
		return nil
	}
	return &attempts.ModelRun{Engine: in.Engine, Name: in.Name, Why: string(in.Why), Tier: string(value(in.Tier))}
}

// ReportProgress says how far the work is.
func (s *reportHandlers) ReportProgress(ctx context.Context, r ReportProgressRequestObject) (ReportProgressResponseObject, error) {
	ref := lease.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch}
	used, err := s.reportUsage(ctx, ref, r.Body.Usage)
	if err != nil {
		return nil, err
	}
	checkpoint, err := parseCheckpoint(r.Body.Checkpoint, r.Body.CheckpointBlob)
	if err != nil {
		return nil, err
	}
	standing, err := s.Dispatch.Progress(ctx, principal(ctx), ref,
		report.Progress{Percent: r.Body.ProgressPercent, Step: r.Body.CurrentStep, Checkpoint: checkpoint,
			Model: toModelRun(r.Body.Model), Files: value(r.Body.FilesTouched)})
	answer := toStanding(standing)
	answer.UsageResults = used
	return ReportProgress200JSONResponse(answer), err
}

// RenewLease extends a lease.
func (s *reportHandlers) RenewLease(ctx context.Context, r RenewLeaseRequestObject) (RenewLeaseResponseObject, error) {
	standing, err := s.Dispatch.Renew(ctx, principal(ctx), lease.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch}, value(r.Body.TTLSeconds))
	return RenewLease200JSONResponse(toStanding(standing)), err
}

// FollowPullRequest takes a lease off its seat while a pull request is waited for.
func (s *reportHandlers) FollowPullRequest(
	ctx context.Context, r FollowPullRequestRequestObject,
) (FollowPullRequestResponseObject, error) {
	standing, err := s.Dispatch.Follow(ctx, principal(ctx), lease.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch},
		report.PullRequest{URL: r.Body.URL, Number: r.Body.Number, Branch: r.Body.Branch})
	return FollowPullRequest200JSONResponse(toStanding(standing)), err
}

// CompleteJob hands work in.
func (s *reportHandlers) CompleteJob(ctx context.Context, r CompleteJobRequestObject) (CompleteJobResponseObject, error) {
	answer, err := s.ended(ctx, lease.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch}, r.Body.Usage, func(ref lease.Ref) (report.Ended, error) {
		return s.Dispatch.Complete(ctx, principal(ctx), ref, report.Completion{
			Result: r.Body.Result, Summary: value(r.Body.Summary), Commit: value(r.Body.Commit), Branch: value(r.Body.Branch),
			URL: value(r.Body.URL), FilesTouched: value(r.Body.FilesTouched), PatchBlob: value(r.Body.PatchBlob),
			ResultBlob: value(r.Body.ResultBlob), DeliveryFollows: value(r.Body.DeliveryFollows),
			Proofs: toProofs(r.Body.Proofs), ProofError: value(r.Body.ProofError),
			Comments: toAnswers(value(r.Body.Comments)), Next: toNext(r.Body.Next)})
	})
	return CompleteJob200JSONResponse(answer), err
}

func toProofs(in *[]CompletionProof) (list []evidence.Proof) {
	for _, p := range value(in) {
		list = append(list, evidence.Proof{Criterion: p.Criterion, Commit: p.Commit, Blob: p.Blob, Title: value(p.Title)})
	}
	return list
}

// FailJob ends an attempt that went wrong.
func (s *reportHandlers) FailJob(ctx context.Context, r FailJobRequestObject) (FailJobResponseObject, error) {
	answer, err := s.ended(ctx, lease.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch}, r.Body.Usage, func(ref lease.Ref) (report.Ended, error) {
		return s.Dispatch.Fail(ctx, principal(ctx), ref, report.Failure{
			Error: r.Body.Error, Kind: value(r.Body.Kind), Stack: value(r.Body.Stack), Provider: value(r.Body.Provider),
			Retryable:  value(r.Body.Retryable),
			RetryAfter: time.Duration(value(r.Body.RetryAfterSeconds)) * time.Second, Next: toNext(r.Body.Next)})
	})
	return FailJob200JSONResponse(answer), err
}

// ReleaseLease gives a job back.
func (s *reportHandlers) ReleaseLease(ctx context.Context, r ReleaseLeaseRequestObject) (ReleaseLeaseResponseObject, error) {
	answer, err := s.ended(ctx, lease.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch}, r.Body.Usage, func(ref lease.Ref) (report.Ended, error) {
		checkpoint, err := parseCheckpoint(r.Body.Checkpoint, r.Body.CheckpointBlob)
		if err != nil {
			return report.Ended{}, err
		}
		said := report.Release{Reason: r.Body.Reason, Checkpoint: checkpoint, Next: toNext(r.Body.Next)}
		return s.Dispatch.Release(ctx, principal(ctx), ref, said)
	})
	return ReleaseLease200JSONResponse(answer), err
}

// ReclaimLeases ends leases that are past their time, or one job's lease.
func (s *reportHandlers) ReclaimLeases(ctx context.Context, r ReclaimLeasesRequestObject) (ReclaimLeasesResponseObject, error) {
	released, err := s.Dispatch.Reclaim(ctx, principal(ctx), value(value(r.Body).Job))
	return ReclaimLeases200JSONResponse{Released: released}, err
}

// AskQuestion parks a job with a question.
func (s *reportHandlers) AskQuestion(ctx context.Context, r AskQuestionRequestObject) (AskQuestionResponseObject, error) {
	answer, err := s.ended(ctx, lease.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch}, r.Body.Usage, func(ref lease.Ref) (report.Ended, error) {
		checkpoint, err := parseCheckpoint(r.Body.Checkpoint, r.Body.CheckpointBlob)
		if err != nil {
			return report.Ended{}, err
		}
		return s.Dispatch.Ask(ctx, principal(ctx), ref,
			report.Question{Text: r.Body.Question, Checkpoint: checkpoint, Next: toNext(r.Body.Next)})
	})
	return AskQuestion200JSONResponse(answer), err
}

// parseCheckpoint returns the checkpoint of a body: an object, or a blob that is named instead.
func parseCheckpoint(checkpoint json.RawMessage, blob *string) (json.RawMessage, error) {
	switch {
	case blob == nil:
		return checkpoint, nil
	case len(checkpoint) > 0:
		return nil, fault.Invalid("checkpoint_blob", "There must be checkpoint or checkpoint_blob.")
	}
	return report.BlobCheckpoint(*blob)
}

// ended books the usage that comes with the end of a lease, ends it, and gives the job as
// it is then.
func (s *reportHandlers) ended(
	ctx context.Context, ref lease.Ref, usage *UsageEntries, end func(lease.Ref) (report.Ended, error),
) (Job, error) {
	used, err := s.reportUsage(ctx, ref, usage)
	if err != nil {
		return Job{}, err
	}
	ended, err := end(ref)
	if err != nil {
		return Job{}, err
	}
	answer := jobModel(ended.Job)
	answer.UsageResults = used
	answer.Next, err = s.nextModel(ctx, ended.Next)
	return answer, err
}

// WriteLogs adds lines to a job's log.
func (s *reportHandlers) WriteLogs(ctx context.Context, r WriteLogsRequestObject) (WriteLogsResponseObject, error) {
	lines := make([]joblog.Line, 0, len(r.Body.Lines))
	for _, l := range r.Body.Lines {
		lines = append(lines, joblog.Line{LineID: value(l.ID), Level: joblog.Level(l.Level), Event: value(l.Event), Message: l.Message,
			Details: l.Details, At: l.At})
	}
	standing, err := s.Dispatch.WriteLogs(ctx, principal(ctx), lease.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch}, lines)
	return WriteLogs200JSONResponse(toStanding(standing)), err
}

// ReportDelivery says what became of the commit of an attempt.
func (s *reportHandlers) ReportDelivery(ctx context.Context, r ReportDeliveryRequestObject) (ReportDeliveryResponseObject, error) {
	now, err := s.Dispatch.RecordDelivery(ctx, principal(ctx), lease.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch}, attempts.Delivery{
		State: attempts.DeliveryState(r.Body.State), Branch: r.Body.Branch, Commit: r.Body.Commit, Detail: value(r.Body.Detail)})
	if err != nil {
		return nil, err
	}
	return ReportDelivery200JSONResponse(*deliveryModel(now)), nil
}

// deliveryModel returns what was reported of a commit, nil where nothing was.
func deliveryModel(d attempts.Delivery) *Delivery {
	if !d.IsTold() {
		return nil
	}
	return &d
}

func logModel(l joblog.Line) LogLine {
	l.Details = object(l.Details)
	return l
}
