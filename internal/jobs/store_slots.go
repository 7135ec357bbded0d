package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/globs"
	"github.com/fleetboard/fleetboard/internal/jobs/sharing"
)

// slot is the right of one job to its repo; status and priority are the job's, where it
// was read.
// Files are those that it is for, nil for the whole repo.
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

// reposAtOnce is of how many repos the slots are read at once.
const reposAtOnce = 20

// sharingTx reads who has files of repos, and who waits for some. All of the repos are in the
// map. Each has globs.DefaultSteps, or all of them have those together where they are shared: one
// with costly globs then leaves the others undecided.
func sharingTx(ctx context.Context, tx db.Tx, workspace ids.ID, repos []string, shared bool) (map[string]*sharing.Repo, error) {
	waiting, err := q.HeldPaths(ctx, tx, repos, workspace, sharing.Most+1)
	if err != nil {
		return nil, err
	}
	slots, err := slotsTx(ctx, tx, workspace, repos)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(waiting, func(a, b dbsqlc.HeldPathsRow) int {
		return cmp.Or(b.Priority-a.Priority, a.StatusAt.Compare(b.StatusAt), slices.Compare(a.ID[:], b.ID[:]))
	})
	found, steps := map[string]*sharing.Repo{}, map[string]*globs.Steps{}
	all := new(globs.DefaultSteps)
	for _, repo := range repos {
		steps[repo] = all
		if !shared {
			steps[repo] = new(globs.DefaultSteps)
		}
		found[repo] = sharing.NewRepo(steps[repo])
	}
	for _, s := range slots {
		found[s.Repo].AddHolder(sharing.Rival{ID: s.JobID, Priority: s.Priority, Yields: Status(s.Status) == Ready,
			Files: readFiles(steps[s.Repo], s.Files, s.Files == nil)})
	}
	for _, w := range waiting {
		found[w.Repo].AddWaiter(sharing.Rival{ID: w.ID, Priority: w.Priority,
			Files: readFiles(steps[w.Repo], w.Files, WaitReason(w.WaitReason) == WaitRepoBusy)})
	}
	return found, nil
}

// readFiles returns the files that a slot, or what waits for one, is for.
func readFiles(steps *globs.Steps, files []string, whole bool) globs.Set {
	if whole {
		return globs.Everything
	}
	return steps.Parse(files)
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
	type row struct {
		Repo  string   `json:"repo"`
		Job   ids.ID   `json:"job"`
		Files []string `json:"files"`
	}
	rows := make([]row, 0, len(list))
	for _, s := range list {
		rows = append(rows, row{s.Repo, s.JobID, s.Files})
	}
	raw, err := json.Marshal(rows)
	if err != nil {
		return 0, fmt.Errorf("encode slots: %w", err)
	}
	n, err := q.SlotInsert(ctx, tx, workspace, raw)
	if err != nil {
		return 0, err
	}
	return int(n), nil
}

// workedTx gives the jobs of a product that are worked on in a repo, by id, repo and files.
func workedTx(ctx context.Context, tx db.Tx, workspace, product ids.ID) ([]*Job, error) {
	rows, err := q.SlotWorked(ctx, tx, workspace, product)
	if err != nil {
		return nil, err
	}
	list := make([]*Job, 0, len(rows))
	for _, r := range rows {
		list = append(list, &Job{ID: r.ID, Spec: Spec{Repo: r.Repo, Files: r.Files}, Serialise: SerialiseRepo})
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

// HeldFreedTx gives jobs that wait for a repo, a path of one, or a place in a review queue
// although the reason is gone, the most urgent first, at most limit. Of each repo
// that one job has to itself it names one, the next to have it.
func HeldFreedTx(ctx context.Context, tx db.Tx, workspace ids.ID, limit int) ([]ids.ID, error) {
	list, err := q.HeldFreed(ctx, tx, limit, workspace)
	if err != nil || len(list) >= limit {
		return list, err
	}
	repos, err := q.HeldPathRepos(ctx, tx, workspace)
	if err != nil {
		return nil, err
	}
	for some := range slices.Chunk(repos, reposAtOnce) {
		next, err := nextByPathsTx(ctx, tx, workspace, some)
		if err != nil {
			return nil, err
		}
		if list = append(list, next...); len(list) >= limit {
			return list[:limit], nil
		}
	}
	return list, nil
}

// NextInRepoTx gives the jobs that may come next in a repo that a job of such a product has
// left, the most urgent first, whether they may by now or not. To promote them: PromoteTx,
// each in a transaction that holds no other job.
func NextInRepoTx(ctx context.Context, tx db.Tx, workspace ids.ID, repo string, left Serialise) ([]ids.ID, error) {
	if left != SerialisePaths {
		next, held, err := HeldByRepoTx(ctx, tx, workspace, repo)
		if err != nil || held {
			return []ids.ID{next}, err
		}
	}
	return nextByPathsTx(ctx, tx, workspace, []string{repo})
}
