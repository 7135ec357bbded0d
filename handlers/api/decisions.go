package api

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/internal/dispatch/decision"
)

type (
	// DecisionList is why which factory got a job.
	DecisionList struct {
		Items []decision.Decision `json:"items"`
	}
	// Divergence is how often that was not the one that suited it best.
	Divergence = decision.Divergence
)

// dayAgo is since when decisions are counted where nobody says.
const dayAgo = -24 * time.Hour

// ListDecisions returns the decisions about a job.
func (s *dispatchHandlers) ListDecisions(ctx context.Context, r ListDecisionsRequestObject) (ListDecisionsResponseObject, error) {
	list, err := s.Dispatch.Decisions(ctx, principal(ctx), r.Job)
	return ListDecisions200JSONResponse{Items: list}, err
}

// GetDivergence counts decisions by class.
func (s *dispatchHandlers) GetDivergence(ctx context.Context, r GetDivergenceRequestObject) (GetDivergenceResponseObject, error) {
	since := time.Now().Add(dayAgo)
	if r.Params.Since != nil {
		since = *r.Params.Since
	}
	d, err := s.Dispatch.Divergence(ctx, principal(ctx), since)
	return GetDivergence200JSONResponse(d), err
}
