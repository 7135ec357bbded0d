package api

import (
	"context"
	"time"

	"fleetboard/internal/dispatch"
)

// StartJob says that work on a claimed job begins.
func (s *Server) StartJob(ctx context.Context, r StartJobRequestObject) (StartJobResponseObject, error) {
	standing, err := s.dispatch.Start(ctx, whoOf(ctx), dispatch.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch})
	return StartJob200JSONResponse(standingModel(standing)), err
}

// ReportProgress says how far the work is.
func (s *Server) ReportProgress(ctx context.Context, r ReportProgressRequestObject) (ReportProgressResponseObject, error) {
	standing, err := s.dispatch.Progress(ctx, whoOf(ctx), dispatch.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch},
		dispatch.Progress{Percent: r.Body.ProgressPercent, Step: r.Body.CurrentStep, Checkpoint: r.Body.Checkpoint})
	return ReportProgress200JSONResponse(standingModel(standing)), err
}

// RenewLease extends a lease.
func (s *Server) RenewLease(ctx context.Context, r RenewLeaseRequestObject) (RenewLeaseResponseObject, error) {
	standing, err := s.dispatch.Renew(ctx, whoOf(ctx), dispatch.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch}, value(r.Body.TTLSeconds))
	return RenewLease200JSONResponse(standingModel(standing)), err
}

// CompleteJob hands work in.
func (s *Server) CompleteJob(ctx context.Context, r CompleteJobRequestObject) (CompleteJobResponseObject, error) {
	job, err := s.dispatch.Complete(ctx, whoOf(ctx), dispatch.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch}, dispatch.Completion{
		Result: r.Body.Result, Summary: value(r.Body.Summary), Commit: value(r.Body.Commit), Branch: value(r.Body.Branch),
		URL: value(r.Body.URL), FilesTouched: value(r.Body.FilesTouched)})
	return CompleteJob200JSONResponse(jobModel(job)), err
}

// FailJob ends an attempt that went wrong.
func (s *Server) FailJob(ctx context.Context, r FailJobRequestObject) (FailJobResponseObject, error) {
	job, err := s.dispatch.Fail(ctx, whoOf(ctx), dispatch.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch}, dispatch.Failure{
		Error: r.Body.Error, Kind: value(r.Body.Kind), Stack: value(r.Body.Stack), Retryable: value(r.Body.Retryable),
		RetryAfter: time.Duration(value(r.Body.RetryAfterSeconds)) * time.Second})
	return FailJob200JSONResponse(jobModel(job)), err
}

// ReleaseLease gives a job back.
func (s *Server) ReleaseLease(ctx context.Context, r ReleaseLeaseRequestObject) (ReleaseLeaseResponseObject, error) {
	job, err := s.dispatch.Release(ctx, whoOf(ctx), dispatch.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch}, r.Body.Reason, r.Body.Checkpoint)
	return ReleaseLease200JSONResponse(jobModel(job)), err
}

// ReclaimLeases ends leases that are past their time, or one job's lease.
func (s *Server) ReclaimLeases(ctx context.Context, r ReclaimLeasesRequestObject) (ReclaimLeasesResponseObject, error) {
	released, err := s.dispatch.Reclaim(ctx, whoOf(ctx), value(value(r.Body).Job))
	return ReclaimLeases200JSONResponse{Released: released}, err
}

// AskQuestion parks a job with a question.
func (s *Server) AskQuestion(ctx context.Context, r AskQuestionRequestObject) (AskQuestionResponseObject, error) {
	job, err := s.dispatch.Ask(ctx, whoOf(ctx), dispatch.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch}, r.Body.Question, r.Body.Checkpoint)
	return AskQuestion200JSONResponse(jobModel(job)), err
}
