package jobs

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// slot is the right of one job to its repo; status and priority are the job's, where it
// was read.
type slot dbsqlc.SlotListRow

func (s slot) String() string { return s.Repo }

// slotsTx reads whose the slots of repos are. One that is nobody's is left out.
func slotsTx(ctx context.Context, tx db.Tx, workspace ids.ID, repos []string) ([]slot, error) {
	rows, err := q.SlotList(ctx, tx, workspace, repos)
	if err != nil {
		return nil, err
	}
	list := make([]slot, 0, len(rows))
	for _, r := range rows {
		list = append(list, slot(r))
	}
	return list, nil
}

// lockSlotsTx locks the slots of those repos that nobody else has locked.
func lockSlotsTx(ctx context.Context, tx db.Tx, workspace ids.ID, repos []string) ([]string, error) {
	return q.SlotLock(ctx, tx, repos, workspace.String())
}

// yieldSlotTx locks the ready job that has a slot, where its priority is less. It reports
// false where the job is being claimed or changed at this moment.
func yieldSlotTx(ctx context.Context, tx db.Tx, workspace, job ids.ID, priority int) (bool, error) {
	locked, err := q.SlotYield(ctx, tx, workspace, job, priority)
	if err != nil {
		return false, err
	}
	return len(locked) > 0, nil
}

// insertSlotsTx takes slots, and returns how many were free.
func insertSlotsTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []slot) (int, error) {
	var (
		repos []string
		in    []ids.ID
	)
	for _, s := range list {
		repos, in = append(repos, s.Repo), append(in, s.JobID)
	}
	n, err := q.SlotInsert(ctx, tx, workspace, repos, in)
	if err != nil {
		return 0, err
	}
	return int(n), nil
}

// workedTx gives the jobs of a product that are worked on in a repo, by id and repo.
func workedTx(ctx context.Context, tx db.Tx, workspace, product ids.ID) ([]*Job, error) {
	rows, err := q.SlotWorked(ctx, tx, workspace, product)
	if err != nil {
		return nil, err
	}
	list := make([]*Job, 0, len(rows))
	for _, r := range rows {
		list = append(list, &Job{ID: r.ID, Spec: Spec{Repo: r.Repo}, OneJobPerRepo: true})
	}
	return list, nil
}

// HeldByRepoTx gives the most urgent job that waits for a repo (repo_busy),
// whether the repo is free or not; ok is false where none waits. To promote it:
// PromoteTx, in a transaction that holds no other job.
func HeldByRepoTx(ctx context.Context, tx db.Tx, workspace ids.ID, repo string) (id ids.ID, ok bool, err error) {
	list, err := q.HeldByRepo(ctx, tx, workspace, repo)
	if err != nil {
		return ids.Nil, false, err
	}
	if len(list) == 0 {
		return ids.Nil, false, nil
	}
	return list[0], true, nil
}

// HeldByReviewTx gives the most urgent jobs of a product that wait for a place in
// its review queue (review_backlog), at most limit, whether there is one or not.
func HeldByReviewTx(ctx context.Context, tx db.Tx, workspace, product ids.ID, limit int) ([]ids.ID, error) {
	return q.HeldByReview(ctx, tx, workspace, product, limit)
}

// HeldFreedTx gives jobs that wait for a repo or for a place in a review queue
// although the reason is gone, the most urgent first, at most limit. Of each repo
// it names one, the next to have it.
func HeldFreedTx(ctx context.Context, tx db.Tx, workspace ids.ID, limit int) ([]ids.ID, error) {
	return q.HeldFreed(ctx, tx, limit, workspace)
}
