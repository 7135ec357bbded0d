package merging

import (
	"context"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
)

var q = dbsqlc.New()

// workspaces are those in which factories merge.
func workspaces(ctx context.Context, d *db.DB) (list []ids.ID, err error) {
	err = d.InSystem(ctx, func(tx db.Tx) error {
		list, err = q.JobMergeWorkspaces(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("workspaces with merges: %w", err)
	}
	return list, nil
}

// open are the merges about which nothing is decided.
func (s *Service) open(ctx context.Context, workspace ids.ID) (list []openMerge, err error) {
	err = s.db.InWorkspace(ctx, workspace, func(tx db.Tx) error {
		rows, err := q.JobMergeOpen(ctx, tx, dbsqlc.JobMergeOpenParams{WorkspaceID: workspace, MaxRows: atOnce})
		list = make([]openMerge, 0, len(rows))
		for _, r := range rows {
			list = append(list, openMerge{merge: r.MergeJobID, job: r.JobID, mergeKey: r.MergeKey, key: r.Key,
				mergeStatus: jobs.Status(r.MergeStatus), jobStatus: jobs.Status(r.Status), lastError: r.LastError,
				commit: r.MergedCommit, url: r.Url})
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
	err = s.db.InWorkspace(ctx, workspace, func(tx db.Tx) error {
		rows, err := q.JobMergeWanted(ctx, tx, dbsqlc.JobMergeWantedParams{WorkspaceID: workspace, MaxRows: atOnce})
		list = make([]wantedMerge, 0, len(rows))
		for _, r := range rows {
			list = append(
				list,
				wantedMerge{
					job:      r.ID,
					key:      r.Key,
					title:    r.Title,
					repo:     r.Repo,
					product:  r.Product,
					priority: int(r.Priority),
					commit:   r.ApprovedHead,
					branch:   r.Branch,
					by:       r.MergeBy,
					method:   r.MergeMethod,
					into:     r.MergeInto,
					checks:   r.MergeChecks,
					times:    r.Times,
				},
			)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("approved work to merge: %w", err)
	}
	return list, nil
}

// note keeps which job merges which. What is noted already stays.
func (s *Service) note(ctx context.Context, workspace, merge, job ids.ID) error {
	err := s.db.InWorkspace(ctx, workspace, func(tx db.Tx) error {
		return q.JobMergeInsert(ctx, tx, dbsqlc.JobMergeInsertParams{WorkspaceID: workspace, MergeJobID: merge, JobID: job})
	})
	if err != nil {
		return fmt.Errorf("note a merge: %w", err)
	}
	return nil
}

// close notes that a merge is decided.
func (s *Service) close(ctx context.Context, workspace, merge ids.ID) error {
	err := s.db.InWorkspace(ctx, workspace, func(tx db.Tx) error {
		return q.JobMergeDecide(ctx, tx, dbsqlc.JobMergeDecideParams{WorkspaceID: workspace, MergeJobID: merge})
	})
	if err != nil {
		return fmt.Errorf("close a merge: %w", err)
	}
	return nil
}
