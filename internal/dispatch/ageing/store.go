package ageing

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

// ageingWorkspace is a workspace in which waiting makes urgent, and after how many minutes.
type ageingWorkspace = dbsqlc.AgeingWorkspacesRow

func ageingWorkspaces(ctx context.Context, tx db.Tx) ([]ageingWorkspace, error) {
	return q.AgeingWorkspaces(ctx, tx)
}

// unplacedWorkspace is one whose ready jobs may stand by other settings than the present ones, and the
// version of these.
type unplacedWorkspace = dbsqlc.UnplacedWorkspacesRow

func unplacedWorkspaces(ctx context.Context, tx db.Tx) ([]unplacedWorkspace, error) {
	return q.UnplacedWorkspaces(ctx, tx)
}

// placeTx moves up to maxRaised ready jobs after one of them, by their ids, to where the present setting
// puts them. It returns the last one that it looked at, ids.Nil after the end.
func placeTx(ctx context.Context, tx db.Tx, workspace, after ids.ID) (last ids.ID, moved int, err error) {
	row, err := q.ReadyPlace(ctx, tx, workspace, after, maxRaised)
	return row.Last, row.Moved, err
}

// placedTx notes by which version of the settings all ready jobs stand.
func placedTx(ctx context.Context, tx db.Tx, w unplacedWorkspace) error {
	return q.DispatchPlaced(ctx, tx, w.Version, w.WorkspaceID)
}

// raiseTx raises up to maxRaised jobs that have stood at their priority for so many minutes, and
// returns how many.
func raiseTx(ctx context.Context, tx db.Tx, workspace ids.ID, minutes int) (int64, error) {
	return q.ReadyAge(ctx, tx, minutes, workspace, maxRaised)
}
