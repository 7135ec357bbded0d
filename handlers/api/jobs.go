package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/jobsearch"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// jobHandlers answer the calls that make, read, edit and delete jobs.
type jobHandlers struct {
	jobs     jobKeeper
	discover discoveries
	fleet    reach
	agents   agentFinder
	usage    jobUsage

	estimates estimator
	search    jobSearch
}

type jobSearch interface {
	Search(ctx context.Context, who tenancy.Principal, words string, in jobsearch.Where, limit int) ([]jobsearch.Found, error)
}

type jobKeeper interface {
	Create(ctx context.Context, who tenancy.Principal, from *idempotency.Key, in ...jobs.New) (jobs.Created, error)
	List(ctx context.Context, who tenancy.Principal, f jobs.Filter) (list []jobs.Job, next string, err error)
	Get(ctx context.Context, who tenancy.Principal, keyOrID string) (jobs.Job, error)
	Patch(ctx context.Context, who tenancy.Principal, keyOrID string, p jobs.Patch) (jobs.Job, error)
	Purge(ctx context.Context, who tenancy.Principal, keyOrID string) error
}

// discoveries creates the jobs that agents find in their work.
type discoveries interface {
	Submit(ctx context.Context, who tenancy.Principal, from *idempotency.Key, holding lease.Ref, in jobs.New) (jobs.Created, error)
}

type jobUsage interface {
	Usage(ctx context.Context, who tenancy.Principal, job ids.ID, epochs ...int64) (spend.JobUsage, error)
}

// ListJobs gives a page of jobs, or of parts of them.
func (s *jobHandlers) ListJobs(ctx context.Context, r ListJobsRequestObject) (ListJobsResponseObject, error) {
	page, err := s.jobPage(ctx, jobFilter(r.Params))
	if fields := value(r.Params.Fields); len(fields) > 0 && err == nil {
		return partialJobs(page, fields), nil
	}
	return ListJobs200JSONResponse(page), err
}

// SearchJobs finds jobs by words.
func (s *jobHandlers) SearchJobs(ctx context.Context, r SearchJobsRequestObject) (SearchJobsResponseObject, error) {
	in, most := jobsearch.Everything, 20
	if r.Params.In != nil {
		in = jobsearch.Where(*r.Params.In)
	}
	if r.Params.Limit != nil {
		most = *r.Params.Limit
	}
	found, err := s.search.Search(ctx, principal(ctx), r.Params.Q, in, most)
	return SearchJobs200JSONResponse{Items: models(found, foundJobModel)}, err
}

func foundJobModel(f jobsearch.Found) FoundJob {
	m := FoundJob{Job: jobModel(f.Job), Passage: f.Passage}
	if f.In != nil {
		m.Log = &FoundInLog{Epoch: f.In.Epoch}
		if f.In.Line != nil {
			line := logModel(*f.In.Line)
			m.Log.Line = &line
		}
	}
	return m
}

// ListAgentJobs gives a page of the jobs that an agent holds.
func (s *jobHandlers) ListAgentJobs(ctx context.Context, r ListAgentJobsRequestObject) (ListAgentJobsResponseObject, error) {
	if _, err := s.agents.Agent(ctx, principal(ctx), r.Agent); err != nil {
		return nil, err
	}
	page, err := s.jobPage(ctx, jobs.Filter{Agent: r.Agent, Cursor: value(r.Params.Cursor), Limit: limit(r.Params.Limit)})
	return ListAgentJobs200JSONResponse(page), err
}

func (s *jobHandlers) jobPage(ctx context.Context, f jobs.Filter) (JobPage, error) {
	found, next, err := s.jobs.List(ctx, principal(ctx), f)
	return JobPage{Items: models(found, jobModel), NextCursor: next}, err
}

// GetJob reads one job.
func (s *jobHandlers) GetJob(ctx context.Context, r GetJobRequestObject) (GetJobResponseObject, error) {
	who := principal(ctx)
	job, err := s.jobs.Get(ctx, who, r.Job)
	if err != nil {
		return nil, err
	}
	used, err := s.usage.Usage(ctx, who, job.ID)
	if err != nil {
		return nil, err
	}
	expected, err := s.estimates.Of(ctx, who, screens.EstimateAsk(job))
	model, total, estimated := jobModel(job), usageModel(used.Total), expected.P50.Fixed()
	spent, since := used.Spent.Cost.Fixed(), used.Spent.Since.Fixed()
	model.Usage, model.EstimatedUSD, model.SpentUSD, model.SpentSinceProgressUSD = &total, &estimated, &spent, &since
	return GetJob200JSONResponse(model), err
}

// PatchJob edits a job.
func (s *jobHandlers) PatchJob(ctx context.Context, r PatchJobRequestObject) (PatchJobResponseObject, error) {
	patch, err := jobPatch(callFrom(ctx).body)
	if err != nil {
		return nil, err
	}
	job, err := s.jobs.Patch(ctx, principal(ctx), r.Job, patch)
	return PatchJob200JSONResponse(jobModel(job)), err
}

// DeleteJob deletes a finished job.
func (s *jobHandlers) DeleteJob(ctx context.Context, r DeleteJobRequestObject) (DeleteJobResponseObject, error) {
	return DeleteJob204Response{}, s.jobs.Purge(ctx, principal(ctx), r.Job)
}
