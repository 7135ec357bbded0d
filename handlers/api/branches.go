package api

import (
	"context"
)

// branchHandlers answer the calls about branches of jobs.
type branchHandlers struct{ *Deps }

// ListEndedBranches lists the branches of jobs that ended long enough ago.
func (s *branchHandlers) ListEndedBranches(
	ctx context.Context, r ListEndedBranchesRequestObject,
) (ListEndedBranchesResponseObject, error) {
	found, err := s.Jobs.EndedBranches(ctx, principal(ctx), r.Body.Repo, r.Body.Jobs)
	return ListEndedBranches200JSONResponse{Items: list(found)}, err
}
