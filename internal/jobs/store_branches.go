package jobs

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

func endedBranchesTx(ctx context.Context, tx db.Tx, workspace ids.ID, repo string, keys []string) ([]EndedBranch, error) {
	rows, err := q.BranchesEnded(ctx, tx, maxBranchAttempts, workspace, keys, repo)
	if err != nil {
		return nil, err
	}
	list := make([]EndedBranch, 0, len(rows))
	for _, r := range rows {
		list = append(list, EndedBranch{JobID: r.ID, Key: r.Key, Epoch: r.Epoch, Branch: r.Branch, Commit: r.Commit, Merged: r.Merged,
			Unmerged: r.Unmerged, Approved: r.ApprovedHead, EndedAt: r.EndedAt})
	}
	return list, nil
}
