package merging

import (
	"context"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

// openMerge is a merge about which something is to be decided.
type openMerge dbsqlc.JobMergeOpenRow

// wantedMerge is approved work that a factory is to merge.
type wantedMerge = dbsqlc.JobMergeWantedRow

// workspaces returns those in which factories merge.
func workspaces(ctx context.Context, d *db.DB) (list []ids.ID, err error) {
	err = d.In(ctx, db.System, func(tx db.Tx) error {
		list, err = q.JobMergeWorkspaces(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("workspaces with merges: %w", err)
	}
	return list, nil
}

// open returns the merges about which something is to be decided.
func (s *Service) open(ctx context.Context, workspace ids.ID) (list []openMerge, err error) {
	err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		rows, err := q.JobMergeOpen(ctx, tx, workspace, atOnce)
		for _, r := range rows {
			list = append(list, openMerge(r))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open merges: %w", err)
	}
	return list, nil
}

// wanted is approved work without an open merge.
func (s *Service) wanted(ctx context.Context, workspace ids.ID) (list []wantedMerge, err error) {
	err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		list, err = q.JobMergeWanted(ctx, tx, workspace, atOnce)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("approved work to merge: %w", err)
	}
	return list, nil
}

// lockWantedTx keeps work approved as the commit until the transaction ends. The error is
// errBegun where it is not so any more.
func lockWantedTx(ctx context.Context, tx db.Tx, workspace ids.ID, w wantedMerge) error {
	rows, err := q.JobMergeLock(ctx, tx, workspace, w.ID, w.ApprovedHead)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return errBegun
	}
	return nil
}

// recordTx writes what a merge job merges, and how. The error is errBegun where another one
// does already.
func recordTx(ctx context.Context, tx db.Tx, workspace, merge ids.ID, w wantedMerge, page string) error {
	n, err := q.JobMergeInsert(ctx, tx, dbsqlc.JobMergeInsertParams{WorkspaceID: workspace, MergeJobID: merge, JobID: w.ID,
		Commit: w.ApprovedHead, Branch: w.Branch, MergeBy: w.MergeBy, Method: w.MergeMethod, IntoBranch: w.MergeInto,
		Checks: w.MergeChecks, Url: page})
	if err != nil {
		return err
	}
	if n == 0 {
		return errBegun
	}
	return q.JobMergeRelease(ctx, tx, workspace, w.ID)
}

// close notes that a merge is decided.
func (s *Service) close(ctx context.Context, workspace ids.ID, m openMerge) error {
	err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		if err := q.JobMergeDecide(ctx, tx, workspace, m.MergeJobID); err != nil {
			return err
		}
		return q.JobMergeRelease(ctx, tx, workspace, m.JobID)
	})
	if err != nil {
		return fmt.Errorf("close a merge: %w", err)
	}
	return nil
}
