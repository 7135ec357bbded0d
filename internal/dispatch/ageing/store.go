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

// raiseTx raises up to maxRaised jobs that have stood at their priority for so many minutes, and
// returns how many.
func raiseTx(ctx context.Context, tx db.Tx, workspace ids.ID, minutes int) (int64, error) {
	return q.ReadyAge(ctx, tx, minutes, workspace, maxRaised)
}
