package jobsearch

import (
	"context"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/ids"
)

// lockTextsTx reads how far the log was looked at for words of jobs; nobody else looks on
// until the transaction ends.
func lockTextsTx(ctx context.Context, tx db.Tx, workspace ids.ID) (eventlog.Cursor, error) {
	place, err := q.JobWordsLock(ctx, tx, workspace)
	if err != nil {
		return eventlog.Cursor{}, fmt.Errorf("lock the words of jobs: %w", err)
	}
	return eventlog.ParseCursor(place)
}

func saveTextsTx(ctx context.Context, tx db.Tx, workspace ids.ID, at eventlog.Cursor) error {
	if err := q.JobWordsPlaceSave(ctx, tx, dbsqlc.JobWordsPlaceSaveParams{WorkspaceID: workspace, Place: at.String()}); err != nil {
		return fmt.Errorf("save how far jobs have words: %w", err)
	}
	return nil
}

// writeWordsTx writes the words of jobs as they are now.
func writeWordsTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID) error {
	if len(jobs) == 0 {
		return nil
	}
	if err := q.JobWordsWrite(ctx, tx, dbsqlc.JobWordsWriteParams{WorkspaceID: workspace, Jobs: jobs}); err != nil {
		return fmt.Errorf("write the words of jobs: %w", err)
	}
	return nil
}
