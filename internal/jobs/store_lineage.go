package jobs

import (
	"context"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

func lineageTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) (Lineage, error) {
	row, err := q.JobLineage(ctx, tx, workspace, job)
	if err != nil {
		return Lineage{}, fmt.Errorf("find the root of a job: %w", err)
	}
	if err := q.NamedLock(ctx, tx, "root:"+workspace.String()+":"+row.RootID.String()); err != nil {
		return Lineage{}, fmt.Errorf("lock a root: %w", err)
	}
	return Lineage{Root: row.RootID, RootKey: row.RootKey, Depth: row.Depth}, nil
}

func saveLineageTx(ctx context.Context, tx db.Tx, workspace, job ids.ID, l Lineage) error {
	err := q.JobLineageSave(ctx, tx, &l.Root, l.Depth, workspace, job)
	if err != nil {
		return fmt.Errorf("save the root of a job: %w", err)
	}
	return nil
}

// rootLoadTx counts what is open below a root, up to the most that may be, and gives how many
// seconds have to pass until another job may come; 0 is none.
func rootLoadTx(ctx context.Context, tx db.Tx, workspace, root ids.ID) (open int, wait float64, err error) {
	row, err := q.JobRootLoad(ctx, tx, workspace, root, MaxFiledOpen, MaxFiledPerHour-1)
	if err != nil {
		return 0, 0, fmt.Errorf("count the jobs below a root: %w", err)
	}
	return row.Open, row.WaitSeconds, nil
}
