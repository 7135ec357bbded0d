package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/jobs"
)

// RankJob puts a job before or after another one, or takes that back.
func (s *actionHandlers) RankJob(ctx context.Context, r RankJobRequestObject) (RankJobResponseObject, error) {
	rank := jobs.Rank{Before: value(r.Body.Before), After: value(r.Body.After)}
	job, err := s.Jobs.Rank(ctx, principal(ctx), r.Job, rank)
	return RankJob200JSONResponse(jobModel(job)), err
}
