package jobs

import (
	"context"
	"fmt"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// openTimeout bounds what a change does for other jobs after its own work is done.
const openTimeout = 5 * time.Second

// HeldByRepoTx gives the most urgent job that waits for a repo (repo_busy),
// whether the repo is free or not; ok is false where none waits. To promote it:
// PromoteTx, in a transaction that holds no other job.
func HeldByRepoTx(ctx context.Context, tx db.Tx, workspace ids.ID, repo string) (id ids.ID, ok bool, err error) {
	list, err := q.HeldByRepo(ctx, tx, dbsqlc.HeldByRepoParams{WorkspaceID: workspace, Repo: repo})
	if err != nil {
		return ids.Nil, false, fmt.Errorf("jobs that wait for a repo: %w", err)
	}
	if len(list) == 0 {
		return ids.Nil, false, nil
	}
	return list[0], true, nil
}

// HeldByReviewTx gives the most urgent jobs of a product that wait for a place in
// its review queue (review_backlog), at most limit, whether there is one or not.
func HeldByReviewTx(ctx context.Context, tx db.Tx, workspace, product ids.ID, limit int) ([]ids.ID, error) {
	list, err := q.HeldByReview(ctx, tx, dbsqlc.HeldByReviewParams{
		WorkspaceID: workspace, ProductID: product, MaxRows: int32(limit)}) //nolint:gosec // the caller's constant
	if err != nil {
		return nil, fmt.Errorf("jobs that wait for review: %w", err)
	}
	return list, nil
}

// HeldFreedTx gives jobs that wait for a repo or for a place in a review queue
// although the reason is gone, the most urgent first, at most limit. Of each repo
// it names one, the next to have it.
func HeldFreedTx(ctx context.Context, tx db.Tx, workspace ids.ID, limit int) ([]ids.ID, error) {
	list, err := q.HeldFreed(ctx, tx, dbsqlc.HeldFreedParams{
		WorkspaceID: workspace, MaxRows: int32(limit)}) //nolint:gosec // the caller's constant
	if err != nil {
		return nil, fmt.Errorf("jobs that are held for nothing: %w", err)
	}
	return list, nil
}

// leftRepo lets in the next job of a repo that a ready job left by an edit or a
// link, or where it is no more the most urgent one. The change itself is saved,
// whatever comes of this; the sweep does what it leaves.
func (s *Service) leftRepo(ctx context.Context, workspace ids.ID, before, after Job) {
	if before.Status != Ready || !before.OneJobPerRepo || before.Repo == "" ||
		after.Status == Ready && after.Repo == before.Repo && after.Priority >= before.Priority {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTimeout)
	defer cancel()
	var next ids.ID
	var held bool
	err := s.db.InWorkspace(ctx, workspace, func(tx db.Tx) (err error) {
		next, held, err = HeldByRepoTx(ctx, tx, workspace, before.Repo)
		return err
	})
	if err != nil || !held {
		return
	}
	_, _ = s.promoteOne(ctx, tenancy.System(workspace, "admission"), next)
}
