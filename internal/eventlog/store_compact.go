package eventlog

import (
	"context"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// compactable is a job, and whether its old events are to be folded.
type compactable struct {
	job ids.ID
	due bool
}

// workspaces lists all workspaces, by id.
func workspaces(ctx context.Context, d *db.DB) (list []ids.ID, err error) {
	err = d.In(ctx, db.System, func(tx db.Tx) error {
		list, err = q.WorkspaceIDs(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	return list, nil
}

// compactableTx reads the jobs that follow one by id, a page of them.
func compactableTx(ctx context.Context, tx db.Tx, workspace, after ids.ID) ([]compactable, error) {
	rows, err := q.EventCompactable(ctx, tx, workspace, after, compactPage)
	page := make([]compactable, 0, len(rows))
	for _, r := range rows {
		page = append(page, compactable{r.ID, r.Due})
	}
	return page, err
}

// foldTx folds the old events of a job. It returns the ids of all its events before,
// oldest first, and how many of them, from the first on, were folded.
func foldTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) (before []int64, folded int, err error) {
	before, err = q.EventIDsOfJob(ctx, tx, workspace, job)
	if err != nil {
		return nil, 0, err
	}
	folded, err = q.EventCompact(ctx, tx, workspace, job)
	return before, folded, err
}

// collectTx deletes contents to which no event has referred for a day.
func collectTx(ctx context.Context, tx db.Tx, workspace ids.ID) error {
	_, err := q.ContentsCollect(ctx, tx, workspace, collectBatch)
	return err
}
