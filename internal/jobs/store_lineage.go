package jobs

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

func lineageTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) (Lineage, error) {
	row, err := q.JobLineage(ctx, tx, workspace, job)
	if err != nil {
		return Lineage{}, err
	}
	if err := q.NamedLock(ctx, tx, "root:"+workspace.String()+":"+row.RootID.String()); err != nil {
		return Lineage{}, err
	}
	return Lineage{Root: row.RootID, RootKey: row.RootKey, Depth: row.Depth}, nil
}

func saveLineageTx(ctx context.Context, tx db.Tx, workspace, job ids.ID, l Lineage) error {
	return q.JobLineageSave(ctx, tx, &l.Root, l.Depth, workspace, job)
}

// rootLoadTx counts what is open below a root, up to the most that may be, and gives how many
// seconds have to pass until another job may come; 0 is none.
func rootLoadTx(ctx context.Context, tx db.Tx, workspace, root ids.ID) (open int, wait float64, err error) {
	row, err := q.JobRootLoad(ctx, tx, workspace, root, MaxFiledOpen, MaxFiledPerHour-1)
	if err != nil {
		return 0, 0, err
	}
	return row.Open, row.WaitSeconds, nil
}
