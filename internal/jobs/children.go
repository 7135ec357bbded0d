package jobs

import (
	"context"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
)

// maxChildren is how many open children a refusal names.
const maxChildren = 20

// OpenChildrenTx gives the keys of the children that keep a locked job from being
// completed, at most 20: none where it does not wait for its children. A child is
// open until it is completed, failed, aborted or archived.
func OpenChildrenTx(ctx context.Context, tx db.Tx, workspace ids.ID, j Job) ([]string, error) {
	if !j.WaitsForChildren {
		return nil, nil
	}
	keys, err := q.JobOpenChildren(ctx, tx, dbsqlc.JobOpenChildrenParams{
		WorkspaceID: workspace, JobID: j.ID, MaxRows: maxChildren})
	if err != nil {
		return nil, fmt.Errorf("children of %s: %w", j.Key, err)
	}
	return keys, nil
}

// RequireChildrenDoneTx is ChildrenOpen, with the keys as the detail "children",
// where a locked job may not be completed yet.
func RequireChildrenDoneTx(ctx context.Context, tx db.Tx, workspace ids.ID, j Job) error {
	open, err := OpenChildrenTx(ctx, tx, workspace, j)
	if err != nil || len(open) == 0 {
		return err
	}
	return fault.New(fault.ChildrenOpen, "%s waits for its children; %s is still open.", j.Key, open[0]).With("children", open)
}
