package people

import (
	"context"

	"fleetboard/db"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/tenancy"
)

// AppendTx records what a person changed of the own account, in the workspace
// the person is in.
func AppendTx(ctx context.Context, tx db.Tx, who tenancy.Principal, e eventlog.Event) error {
	e.Actor = who.Actor()
	return eventlog.AppendTx(ctx, tx, who.Workspace, e)
}
