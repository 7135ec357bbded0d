package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/jobs"
)

// branchHandlers answer the calls about branches of jobs.
type branchHandlers struct{ *Deps }

// ListEndedBranches tells the branches of jobs that ended long enough ago.
func (s *branchHandlers) ListEndedBranches(
	ctx context.Context, r ListEndedBranchesRequestObject,
) (ListEndedBranchesResponseObject, error) {
	list, err := s.Jobs.EndedBranches(ctx, principal(ctx), r.Body.Repo, r.Body.Jobs)
	return ListEndedBranches200JSONResponse{Items: models(list, endedBranchModel)}, err
}

func endedBranchModel(b jobs.EndedBranch) EndedBranch {
	return EndedBranch{Job: b.Key, JobID: b.JobID, Epoch: b.Epoch, Branch: b.Branch, Commit: b.Commit, Merged: b.Merged,
		Unmerged: b.Unmerged, ApprovedHead: b.Approved, EndedAt: b.EndedAt.UTC()}
}
