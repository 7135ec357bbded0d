package jobs

import (
	"context"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
)

// isGatedTx reports whether a parent is to wait for its child.
func isGatedTx(ctx context.Context, tx db.Tx, workspace, parent, child ids.ID) (bool, error) {
	gated, err := q.JobIsGated(ctx, tx, dbsqlc.JobIsGatedParams{WorkspaceID: workspace, JobID: parent, ChildID: child})
	if err != nil {
		return false, fmt.Errorf("gate of a job: %w", err)
	}
	return gated, nil
}
