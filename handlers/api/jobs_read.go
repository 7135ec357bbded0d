package api

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
	"fleetboard/internal/spend"
)

// ListJobs gives a page of jobs, or of parts of them.
func (s *Server) ListJobs(ctx context.Context, r ListJobsRequestObject) (ListJobsResponseObject, error) {
	page, err := s.jobPage(ctx, jobFilter(r.Params))
	if fields := value(r.Params.Fields); len(fields) > 0 && err == nil {
		return partialJobs(page, fields), nil
	}
	return ListJobs200JSONResponse(page), err
}

// ListAgentJobs gives a page of the jobs that an agent holds.
func (s *Server) ListAgentJobs(ctx context.Context, r ListAgentJobsRequestObject) (ListAgentJobsResponseObject, error) {
	if _, err := s.fleet.Agent(ctx, whoOf(ctx), r.Agent); err != nil {
		return nil, err
	}
	page, err := s.jobPage(ctx, jobs.Filter{Agent: r.Agent, Cursor: value(r.Params.Cursor), Limit: limit(r.Params.Limit)})
	return ListAgentJobs200JSONResponse(page), err
}

func (s *Server) jobPage(ctx context.Context, f jobs.Filter) (JobPage, error) {
	found, next, err := s.jobs.List(ctx, whoOf(ctx), f)
	return JobPage{Items: models(found, jobModel), NextCursor: next}, err
}

// GetJob reads one job.
func (s *Server) GetJob(ctx context.Context, r GetJobRequestObject) (GetJobResponseObject, error) {
	who := whoOf(ctx)
	job, err := s.jobs.Get(ctx, who, r.Job)
	if err != nil {
		return nil, err
	}
	used, err := s.dispatch.Usage(ctx, who, job.ID)
	model, total := jobModel(job), usageModel(used.Total)
	model.Usage = &total
	return GetJob200JSONResponse(model), err
}

// PatchJob edits a job.
func (s *Server) PatchJob(ctx context.Context, r PatchJobRequestObject) (PatchJobResponseObject, error) {
	job, err := s.jobs.Patch(ctx, whoOf(ctx), r.Job, jobPatch(*r.Body, nullsOf(callOf(ctx).body)))
	return PatchJob200JSONResponse(jobModel(job)), err
}

// ListAttempts gives a page of a job's attempts, newest first.
func (s *Server) ListAttempts(ctx context.Context, r ListAttemptsRequestObject) (ListAttemptsResponseObject, error) {
	who := whoOf(ctx)
	job, err := s.jobs.Get(ctx, who, r.Job)
	if err != nil {
		return nil, err
	}
	all, err := s.jobs.Attempts(ctx, who, job.ID.String())
	if err != nil {
		return nil, err
	}
	var unknown error
	shown, next, err := page(all, r.Params.Cursor, r.Params.Limit,
		func(a jobs.Attempt) string { return strconv.FormatInt(a.Epoch, 10) },
		func(a jobs.Attempt, last string) bool {
			epoch, err := strconv.ParseInt(last, 10, 64)
			if err != nil {
				unknown = fault.Invalid("cursor", "It must be one that this server gave out.")
			}
			return a.Epoch < epoch
		})
	if err = errors.Join(err, unknown); err != nil {
		return nil, err
	}
	used, err := s.dispatch.Usage(ctx, who, job.ID, models(shown, func(a jobs.Attempt) int64 { return a.Epoch })...)
	return ListAttempts200JSONResponse{NextCursor: next,
		Items: models(shown, func(a jobs.Attempt) Attempt { return attemptModel(job.Key, a, used.Attempts[a.Epoch]) })}, err
}

// ListAgentAttempts gives a page of an agent's attempts, newest first.
func (s *Server) ListAgentAttempts(ctx context.Context, r ListAgentAttemptsRequestObject) (ListAgentAttemptsResponseObject, error) {
	who := whoOf(ctx)
	agent, err := s.fleet.Agent(ctx, who, r.Agent)
	if err != nil {
		return nil, err
	}
	found, next, err := s.jobs.AgentAttempts(ctx, who, agent.ID, jobs.AgentFilter{Outcome: string(value(r.Params.Outcome)),
		Cursor: value(r.Params.Cursor), Limit: limit(r.Params.Limit)})
	if err != nil {
		return nil, err
	}
	leaseOf := func(a jobs.AgentAttempt) spend.Lease { return spend.Lease{Job: a.JobID, Epoch: a.Epoch} }
	used, err := s.dispatch.LeaseUsage(ctx, who, models(found, leaseOf))
	return ListAgentAttempts200JSONResponse{NextCursor: next,
		Items: models(found, func(a jobs.AgentAttempt) Attempt { return attemptModel(a.Key, a.Attempt, used[leaseOf(a)]) })}, err
}

// ListJobEvents gives a page of a job's events, newest first.
func (s *Server) ListJobEvents(ctx context.Context, r ListJobEventsRequestObject) (ListJobEventsResponseObject, error) {
	who := whoOf(ctx)
	var before int64
	if cursor := value(r.Params.Cursor); cursor != "" {
		var err error
		if before, err = strconv.ParseInt(cursor, 10, 64); err != nil || before < 1 {
			return nil, fault.Invalid("cursor", "It must be one that this server gave out.")
		}
	}
	job, err := s.jobs.Get(ctx, who, r.Job)
	if err != nil {
		return nil, err
	}
	n := limit(r.Params.Limit)
	found, err := s.events.OfJob(ctx, who, job.ID, before, n+1)
	if err != nil {
		return nil, err
	}
	next := ""
	if len(found) > n {
		found = found[:n]
		next = strconv.FormatInt(found[n-1].ID, 10)
	}
	return ListJobEvents200JSONResponse{NextCursor: next,
		Items: models(found, func(e eventlog.Event) Event { return eventModel(e, job.Key) })}, nil
}

// ExplainJob says why a job does not run.
func (s *Server) ExplainJob(ctx context.Context, r ExplainJobRequestObject) (ExplainJobResponseObject, error) {
	explained, err := s.kanban.Explain(ctx, whoOf(ctx), r.Job)
	return ExplainJob200JSONResponse(explanationModel(explained)), err
}

// PreviewRoutability says which factories could run a job with these needs.
func (s *Server) PreviewRoutability(ctx context.Context, r PreviewRoutabilityRequestObject) (PreviewRoutabilityResponseObject, error) {
	who := whoOf(ctx)
	if name := value(r.Body.Product); name != "" {
		products, err := s.jobs.Products(ctx, who)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(products, func(p jobs.Product) bool { return p.Name == name }) {
			return nil, fault.Invalid("product", "There is no product %s.", name)
		}
	}
	needs := fleet.Needs{Repo: value(r.Body.Repo), Capabilities: value(r.Body.Capabilities), Factory: value(r.Body.Factory)}
	snap, err := s.fleet.Reach(ctx, who, needs)
	if err != nil {
		return nil, err
	}
	return PreviewRoutability200JSONResponse(routabilityModel(snap.Route(needs))), nil
}

// GetStats counts the workspace's jobs.
func (s *Server) GetStats(ctx context.Context, _ GetStatsRequestObject) (GetStatsResponseObject, error) {
	stats, err := s.jobs.Stats(ctx, whoOf(ctx))
	return GetStats200JSONResponse(statsModel(stats)), err
}

// ListProducts gives a page of the products, by name.
func (s *Server) ListProducts(ctx context.Context, r ListProductsRequestObject) (ListProductsResponseObject, error) {
	all, err := s.jobs.Products(ctx, whoOf(ctx))
	if err != nil {
		return nil, err
	}
	shown, next, err := page(all, r.Params.Cursor, r.Params.Limit,
		func(p jobs.Product) string { return p.Name },
		func(p jobs.Product, last string) bool { return p.Name > last })
	return ListProducts200JSONResponse{Items: models(shown, productModel), NextCursor: next}, err
}

// models turns a list of the domain into one of the API.
func models[D, M any](in []D, model func(D) M) []M {
	out := make([]M, 0, len(in))
	for _, d := range in {
		out = append(out, model(d))
	}
	return out
}
