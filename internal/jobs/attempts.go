package jobs

import (
	"context"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// manyLines is where counting an attempt's lines ends.
const manyLines = 1000

// AttemptRecord is an attempt with all that is kept of it.
type AttemptRecord struct {
	Attempt
	Stack string // of the failure, as the agent gave it
	Lines int    // of the log, those that are still kept
	// Capped is set where there are more lines than were counted.
	Capped bool
}

// AttemptPage reads a job with a page of its attempts, newest first: those
// before an epoch, 0 for the newest. more is set where there are older ones.
// Fault: NotFound.
func (s *Service) AttemptPage(ctx context.Context, who tenancy.Principal, keyOrID string, before int64, limit int) (
	job Job, list []AttemptRecord, more bool, err error,
) {
	err = s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		if job, err = LoadTx(ctx, tx, who.Workspace, keyOrID); err != nil {
			return err
		}
		rows, err := q.AttemptOlder(ctx, tx, dbsqlc.AttemptOlderParams{WorkspaceID: who.Workspace, JobID: job.ID,
			Before: before, MaxRows: int32(limit) + 1}) //nolint:gosec // the caller's constant
		if err != nil {
			return fmt.Errorf("list attempts: %w", err)
		}
		if more = len(rows) > limit; more {
			rows = rows[:limit]
		}
		for _, r := range rows {
			list = append(list, AttemptRecord{Attempt: attemptFrom(r).live(job)})
		}
		return completeTx(ctx, tx, who.Workspace, job.ID, list)
	})
	return job, list, more, err
}

// completeTx adds the stacks and the number of lines to attempts.
func completeTx(ctx context.Context, tx db.Tx, workspace, job ids.ID, list []AttemptRecord) error {
	at := make(map[int64]*AttemptRecord, len(list))
	epochs := make([]int64, len(list))
	for i := range list {
		at[list[i].Epoch], epochs[i] = &list[i], list[i].Epoch
	}
	counts, err := q.LogCountOfAttempts(ctx, tx, dbsqlc.LogCountOfAttemptsParams{WorkspaceID: workspace, JobID: job,
		Epochs: epochs, Most: manyLines + 1})
	if err != nil {
		return fmt.Errorf("count log lines: %w", err)
	}
	for _, c := range counts {
		a := at[c.Epoch]
		a.Lines, a.Capped = min(int(c.Lines), manyLines), c.Lines > manyLines
	}
	stacks, err := q.AttemptStacks(ctx, tx, dbsqlc.AttemptStacksParams{WorkspaceID: workspace, JobID: job, Epochs: epochs})
	if err != nil {
		return fmt.Errorf("read stacks: %w", err)
	}
	for _, s := range stacks {
		at[s.Epoch].Stack = s.Stack
	}
	return nil
}
