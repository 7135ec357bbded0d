package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/jobsearch"
	"github.com/fleetboard/fleetboard/internal/screens"
)

// jobHandlers answer the calls that make, read, edit and delete jobs.
type jobHandlers struct{ *Deps }

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
	found, err := s.JobSearch.Search(ctx, principal(ctx), r.Params.Q, in, most)
	return SearchJobs200JSONResponse{Items: mapSlice(found, foundJobModel)}, err
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
	if _, err := s.Fleet.Agent(ctx, principal(ctx), r.Agent); err != nil {
		return nil, err
	}
	page, err := s.jobPage(ctx, jobs.Filter{Agent: r.Agent, Cursor: value(r.Params.Cursor), Limit: limit(r.Params.Limit)})
	return ListAgentJobs200JSONResponse(page), err
}

func (s *jobHandlers) jobPage(ctx context.Context, f jobs.Filter) (JobPage, error) {
	found, next, err := s.Jobs.List(ctx, principal(ctx), f)
	return JobPage{Items: mapSlice(found, jobModel), NextCursor: next}, err
}

// GetJob reads one job.
func (s *jobHandlers) GetJob(ctx context.Context, r GetJobRequestObject) (GetJobResponseObject, error) {
	who := principal(ctx)
	job, err := s.Jobs.Get(ctx, who, r.Job)
	if err != nil {
		return nil, err
	}
	used, err := s.Dispatch.Usage(ctx, who, job.ID)
	if err != nil {
		return nil, err
	}
	expected, err := s.Estimates.Of(ctx, who, screens.EstimateAsk(job))
	model, total, estimated := jobModel(job), usageModel(used.Total), expected.P50.Fixed()
	spent, since := used.Spent.Cost.Fixed(), used.Spent.Since.Fixed()
	model.Usage, model.EstimatedUSD, model.SpentUSD, model.SpentSinceProgressUSD = &total, &estimated, &spent, &since
	if used.Verified {
		model.VerifyUSD = new(used.Verify.Fixed())
	}
	return GetJob200JSONResponse(model), err
}

// PatchJob edits a job.
func (s *jobHandlers) PatchJob(ctx context.Context, r PatchJobRequestObject) (PatchJobResponseObject, error) {
	job, err := s.Jobs.Patch(ctx, principal(ctx), r.Job, r.Body.Patch)
	return PatchJob200JSONResponse(jobModel(job)), err
}

// DeleteJob deletes a finished job.
func (s *jobHandlers) DeleteJob(ctx context.Context, r DeleteJobRequestObject) (DeleteJobResponseObject, error) {
	return DeleteJob204Response{}, s.Jobs.Purge(ctx, principal(ctx), r.Job)
}

// jobFieldsPage is the answer to ListJobs with parts of jobs.
type jobFieldsPage struct {
	Items      []map[string]any `json:"items"`
	NextCursor string           `json:"next_cursor"`
}

// VisitListJobsResponse writes the answer, as the generated ones do.
func (p jobFieldsPage) VisitListJobsResponse(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	return json.NewEncoder(w).Encode(p)
}

// partialJobs leaves id, key and the fields of each job.
func partialJobs(page JobPage, fields []JobField) jobFieldsPage {
	return jobFieldsPage{NextCursor: page.NextCursor, Items: mapSlice(page.Items, func(j Job) map[string]any {
		whole := reflect.ValueOf(j)
		part := map[string]any{"id": j.ID, "key": j.Key}
		for _, name := range fields {
			part[string(name)] = whole.FieldByIndex(jobParts[string(name)]).Interface()
		}
		return part
	})}
}

// jobParts are the fields of a Job by their names on the wire. Of two with one name the outer
// one counts, as for package json.
var jobParts = func() map[string][]int {
	parts := map[string][]int{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Job]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if known, taken := parts[name]; !taken || len(f.Index) < len(known) {
			parts[name] = f.Index
		}
	}
	return parts
}()
