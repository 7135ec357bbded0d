package jobs

import (
	"context"
	"fmt"
	"slices"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// admission decides which of the jobs that would become ready may, in this order:
// one with an open dependency may not, nor one of a product whose review backlog
// is full, nor one whose repo's slot is another job's (ADR 0015). It never waits
// for a lock: what another transaction is about to take or to give up counts as
// taken, and the sweep finds what that leaves behind.
type admission struct {
	ctx       context.Context //nolint:containedctx // lives as long as the call
	tx        db.Tx
	workspace ids.ID

	slots dbsqlc.SlotInsertParams // to be taken once the jobs are written
}

// admit is the admission of one job that is locked.
func (a *admission) admit(d Decision) (Decision, error) {
	if d.After.Status != Ready || d.Before.Status == Ready && d.Before.Repo == d.After.Repo {
		return d, nil
	}
	// Everybody else was told of the dependencies that are open.
	if d.Before.Status.Leased() || d.Before.Status == InReview {
		open, err := DependencyOpenTx(a.ctx, a.tx, a.workspace, d.After.ID)
		if err != nil {
			return d, fmt.Errorf("dependencies of %s: %w", d.After.Key, err)
		}
		if open {
			return d.held(WaitDependency), nil
		}
	}
	// Rejected work does not add to the backlog that it comes from.
	if d.Before.Status != Ready && d.Before.Status != InReview {
		full, err := a.isFull(d.After)
		if err != nil {
			return d, err
		}
		if full {
			return d.held(WaitReviewBacklog), nil
		}
	}
	busy, err := a.busy([]*Job{&d.After})
	if err != nil || !busy[d.After.ID] {
		return d, err
	}
	return d.held(WaitRepoBusy), nil
}

// admitNew is the admission of new jobs, which are not written yet.
func (a *admission) admitNew(list []Job) error {
	backlog := map[ids.ID]bool{}
	var rest []*Job
	for i := range list {
		j := &list[i]
		if j.Status != Ready {
			continue
		}
		full, known := backlog[j.ProductID]
		if !known {
			var err error
			if full, err = a.isFull(*j); err != nil {
				return err
			}
			backlog[j.ProductID] = full
		}
		if full {
			*j = Decision{After: *j}.held(WaitReviewBacklog).After
		} else {
			rest = append(rest, j)
		}
	}
	busy, err := a.busy(rest)
	for _, j := range rest {
		if busy[j.ID] {
			*j = Decision{After: *j}.held(WaitRepoBusy).After
		}
	}
	return err
}

// isFull reports whether as many jobs of the job's product are in review as it
// allows.
func (a *admission) isFull(j Job) (bool, error) {
	if j.ReviewLimit == nil {
		return false, nil
	}
	limit := int32(*j.ReviewLimit) //nolint:gosec // from an integer column
	n, err := q.InReviewCount(a.ctx, a.tx, dbsqlc.InReviewCountParams{
		WorkspaceID: a.workspace, ProductID: j.ProductID, MaxRows: limit})
	if err != nil {
		return false, fmt.Errorf("count jobs in review: %w", err)
	}
	return n >= limit, nil
}

// busy gives those of the jobs whose repo's slot cannot be theirs: of each repo
// the most urgent job may have it, unless another job has it already.
func (a *admission) busy(list []*Job) (map[ids.ID]bool, error) {
	first := map[string]*Job{}
	busy := map[ids.ID]bool{}
	for _, j := range list {
		if !j.OneJobPerRepo || j.Repo == "" {
			continue
		}
		busy[j.ID] = true
		if head := first[j.Repo]; head == nil || j.Priority > head.Priority {
			first[j.Repo] = j
		}
	}
	if len(first) == 0 {
		return busy, nil
	}
	repos := make([]string, 0, len(first))
	for repo := range first {
		repos = append(repos, repo)
	}
	slices.Sort(repos)
	free, err := a.ask(repos, first, busy)
	if err != nil || len(free) == 0 {
		return busy, err
	}
	free, err = q.SlotLock(a.ctx, a.tx, dbsqlc.SlotLockParams{Workspace: a.workspace.String(), Repos: free})
	if err != nil {
		return nil, fmt.Errorf("lock slots: %w", err)
	}
	// Again, as a statement that sees what was taken before the locks were had.
	if free, err = a.ask(free, first, busy); err != nil {
		return nil, err
	}
	for _, repo := range free {
		a.take(repo, first[repo], busy)
	}
	return busy, nil
}

// ask looks whose the slots are. One that is the job's own already, or that a less
// urgent job yields, is not busy. The repos whose slots are nobody's are returned.
func (a *admission) ask(repos []string, first map[string]*Job, busy map[ids.ID]bool) ([]string, error) {
	rows, err := q.SlotList(a.ctx, a.tx, dbsqlc.SlotListParams{WorkspaceID: a.workspace, Repos: repos})
	if err != nil {
		return nil, fmt.Errorf("look at slots: %w", err)
	}
	free := slices.Clone(repos)
	for _, r := range rows {
		free = slices.DeleteFunc(free, func(repo string) bool { return repo == r.Repo })
		j := first[r.Repo]
		switch {
		case r.JobID == j.ID:
			delete(busy, j.ID)
		case Status(r.Status) == Ready && int(r.Priority) < j.Priority:
			yielded, err := a.displace(r.JobID, j.Priority)
			if err != nil {
				return nil, err
			}
			if yielded {
				a.take(r.Repo, j, busy)
			}
		}
	}
	return free, nil
}

// take notes that the job is to have the slot.
func (a *admission) take(repo string, j *Job, busy map[ids.ID]bool) {
	a.slots.Repos, a.slots.JobIds = append(a.slots.Repos, repo), append(a.slots.JobIds, j.ID)
	delete(busy, j.ID)
}

// displace holds the ready job that has a slot, for a more urgent one. It reports
// false where the job is being claimed or changed at this moment.
func (a *admission) displace(id ids.ID, priority int) (bool, error) {
	locked, err := q.SlotYield(a.ctx, a.tx, dbsqlc.SlotYieldParams{
		WorkspaceID: a.workspace, JobID: id, Priority: int16(priority)}) //nolint:gosec // 0..10
	if err != nil {
		return false, fmt.Errorf("ask for a slot: %w", err)
	}
	if len(locked) == 0 {
		return false, nil
	}
	job, err := LoadTx(a.ctx, a.tx, a.workspace, id.String())
	if err != nil {
		return false, err
	}
	d, err := job.Hold(WaitRepoBusy)
	if err != nil {
		return false, err
	}
	_, err = writeTx(a.ctx, a.tx, a.workspace, []Saving{{tenancy.System(a.workspace, "admission"), d}})
	return err == nil, err
}

// takeSlots gives the admitted jobs, written by now, their slots.
func (a *admission) takeSlots() error {
	if len(a.slots.Repos) == 0 {
		return nil
	}
	a.slots.WorkspaceID = a.workspace
	n, err := q.SlotInsert(a.ctx, a.tx, a.slots)
	if err != nil {
		return fmt.Errorf("take slots: %w", err)
	}
	if int(n) != len(a.slots.Repos) {
		return fmt.Errorf("take slots of %v: only %d were free", a.slots.Repos, n)
	}
	return nil
}
