package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// actionHandlers answer what people do to jobs.
type actionHandlers struct{ *Deps }

// act carries out a person's verb.
func (s *actionHandlers) act(ctx context.Context, job string, a actions.Action) (Job, error) {
	a.Once = callFrom(ctx).once
	changed, err := s.Dispatch.Act(ctx, principal(ctx), job, a)
	return jobModel(changed), err
}

// version returns the one that an optional body names, nil for any.
func version(body *PlainAction) *Version {
	if body == nil {
		return nil
	}
	return body.Version
}

// BlockJob parks a job.
func (s *actionHandlers) BlockJob(ctx context.Context, r BlockJobRequestObject) (BlockJobResponseObject, error) {
	job, err := s.act(ctx, r.Job, actions.Action{Verb: jobs.ByBlock, Reason: r.Body.Reason, Version: r.Body.Version})
	return BlockJob200JSONResponse(job), err
}

// UnblockJob lets a blocked job go on.
func (s *actionHandlers) UnblockJob(ctx context.Context, r UnblockJobRequestObject) (UnblockJobResponseObject, error) {
	job, err := s.act(ctx, r.Job, actions.Action{Verb: jobs.ByUnblock, Version: version(r.Body)})
	return UnblockJob200JSONResponse(job), err
}

// PauseJob pauses a job, or directs its agent to.
func (s *actionHandlers) PauseJob(ctx context.Context, r PauseJobRequestObject) (PauseJobResponseObject, error) {
	job, err := s.act(ctx, r.Job, actions.Action{Verb: jobs.ByPause, Version: version(r.Body)})
	return PauseJob200JSONResponse(job), err
}

// ResumeJob lets a paused job go on.
func (s *actionHandlers) ResumeJob(ctx context.Context, r ResumeJobRequestObject) (ResumeJobResponseObject, error) {
	job, err := s.act(ctx, r.Job, actions.Action{Verb: jobs.ByResume, Version: version(r.Body)})
	return ResumeJob200JSONResponse(job), err
}

// CancelJob cancels a job, or directs its agent to stop.
func (s *actionHandlers) CancelJob(ctx context.Context, r CancelJobRequestObject) (CancelJobResponseObject, error) {
	job, err := s.act(ctx, r.Job, actions.Action{Verb: jobs.ByCancel, Reason: r.Body.Reason, Version: r.Body.Version})
	return CancelJob200JSONResponse(job), err
}

// FinishJob completes a job that nobody holds.
func (s *actionHandlers) FinishJob(ctx context.Context, r FinishJobRequestObject) (FinishJobResponseObject, error) {
	job, err := s.act(ctx, r.Job, actions.Action{Verb: jobs.ByFinish, Reason: r.Body.Reason, Result: r.Body.Result,
		Version: r.Body.Version})
	return FinishJob200JSONResponse(job), err
}

// RetryJob runs a finished job again.
func (s *actionHandlers) RetryJob(ctx context.Context, r RetryJobRequestObject) (RetryJobResponseObject, error) {
	again := actions.Action{Verb: jobs.ByRetry}
	if r.Body != nil {
		again.Reason, again.Version = value(r.Body.Reason), r.Body.Version
	}
	job, err := s.act(ctx, r.Job, again)
	return RetryJob200JSONResponse(job), err
}

// ArchiveJob takes a finished job off the board.
func (s *actionHandlers) ArchiveJob(ctx context.Context, r ArchiveJobRequestObject) (ArchiveJobResponseObject, error) {
	job, err := s.act(ctx, r.Job, actions.Action{Verb: jobs.ByArchive, Version: version(r.Body)})
	return ArchiveJob200JSONResponse(job), err
}

// RejectJob sends a job in review back.
func (s *actionHandlers) RejectJob(ctx context.Context, r RejectJobRequestObject) (RejectJobResponseObject, error) {
	job, err := s.act(ctx, r.Job, actions.Action{Verb: jobs.ByReject, Reason: r.Body.Reason, Version: r.Body.Version})
	return RejectJob200JSONResponse(job), err
}

// ReleaseJob takes a job back from its agent.
func (s *actionHandlers) ReleaseJob(ctx context.Context, r ReleaseJobRequestObject) (ReleaseJobResponseObject, error) {
	job, err := s.act(ctx, r.Job, actions.Action{Verb: jobs.ByRelease, Reason: r.Body.Reason, Version: r.Body.Version})
	return ReleaseJob200JSONResponse(job), err
}

// ApproveJob accepts the work of a job in review.
func (s *actionHandlers) ApproveJob(ctx context.Context, r ApproveJobRequestObject) (ApproveJobResponseObject, error) {
	body := value(r.Body)
	job, err := s.act(ctx, r.Job, actions.Action{Verb: jobs.ByApprove, Commit: value(body.Head), Version: body.Version})
	return ApproveJob200JSONResponse(job), err
}

// MergeJob completes an approved job.
func (s *actionHandlers) MergeJob(ctx context.Context, r MergeJobRequestObject) (MergeJobResponseObject, error) {
	body := value(r.Body)
	job, err := s.act(ctx, r.Job, actions.Action{Verb: jobs.ByMerge, Commit: value(body.Commit), URL: value(body.URL),
		Version: body.Version})
	return MergeJob200JSONResponse(job), err
}

// AnswerJob answers the question that parked a job.
func (s *actionHandlers) AnswerJob(ctx context.Context, r AnswerJobRequestObject) (AnswerJobResponseObject, error) {
	job, err := s.act(ctx, r.Job, actions.Action{Verb: jobs.ByAnswer, Reason: r.Body.Answer, Version: r.Body.Version})
	return AnswerJob200JSONResponse(job), err
}

// FailMerge sends approved work back to review.
func (s *actionHandlers) FailMerge(ctx context.Context, r FailMergeRequestObject) (FailMergeResponseObject, error) {
	job, err := s.act(ctx, r.Job, actions.Action{Verb: jobs.ByMergeFail, Reason: r.Body.Reason, Version: r.Body.Version})
	return FailMerge200JSONResponse(job), err
}
