package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
)

// estimateHandlers say what jobs are expected to cost.
type estimateHandlers struct{ *Deps }

// EstimateJob says what a job is expected to cost.
func (s *estimateHandlers) EstimateJob(ctx context.Context, r EstimateJobRequestObject) (EstimateJobResponseObject, error) {
	who := principal(ctx)
	job, err := s.Jobs.Get(ctx, who, r.Job)
	if err != nil {
		return nil, err
	}
	e, err := s.Estimates.Of(ctx, who, screens.EstimateAsk(job))
	return EstimateJob200JSONResponse(estimateModel(e)), err
}

// PreviewEstimate says what a job is expected to cost that does not exist yet.
func (s *estimateHandlers) PreviewEstimate(ctx context.Context, r PreviewEstimateRequestObject) (PreviewEstimateResponseObject, error) {
	e, err := s.Estimates.Of(ctx, principal(ctx), estimates.Ask{Kind: value(r.Body.Kind), Repo: value(r.Body.Repo),
		Complexity: value(r.Body.Complexity), Minutes: value(r.Body.EstimatedMinutes), Priority: value(r.Body.Priority)})
	return PreviewEstimate200JSONResponse(estimateModel(e)), err
}

func estimateModel(e estimates.Estimate) Estimate {
	return Estimate{P50Usd: e.P50.Fixed(), P90Usd: e.P90.Fixed(), TokensP50: e.TokensP50, Source: EstimateSource(e.Source),
		Samples: e.Samples, Tier: Tier(e.Tier), Why: e.Why}
}
