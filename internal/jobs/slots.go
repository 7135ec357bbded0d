package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// admission decides which of the jobs that would become ready may, in this order:
// one with an open dependency may not, nor one of a product whose review backlog
// is full, nor one whose repo's slot is another job's (ADR 0015), nor one whose files
// another job may touch (ADR 0108). It never waits for a lock: what another transaction is
// about to take or to give up counts as taken, and the sweep finds what that leaves behind.
type admission struct {
	ctx       context.Context // lives as long as the call
	tx        db.Tx
	workspace ids.ID

	slots     []slot   // to be taken once the jobs are written
	contended []string // repos whose paths somebody else was deciding about
}

// admit returns the admission of one job that is locked.
func (a *admission) admit(d Decision) (Decision, error) {
	if d.After.Status != Ready || d.Before.Status == Ready && d.Before.Repo == d.After.Repo && !d.movesPaths() {
		return d, a.declare(d)
	}
	// Everybody else learned of the dependencies that are open.
	if d.Before.Status.Leased() || d.Before.Status == InReview {
		open, err := DependencyOpenTx(a.ctx, a.tx, a.workspace, d.After.ID)
		if err != nil {
			return d, fmt.Errorf("dependencies of %s: %w", d.After.Key, err)
		}
		if open {
			return d.waitFor(WaitDependency), nil
		}
	}
	// Rejected work does not add to the backlog that it comes from.
	if d.Before.Status != Ready && d.Before.Status != InReview {
		full, err := a.isFull(d.After)
		if err != nil {
			return d, err
		}
		if full {
			return d.waitFor(WaitReviewBacklog), nil
		}
	}
	busy, err := a.busy([]*Job{&d.After})
	if err != nil || !busy[d.After.ID] {
		return d, err
	}
	return d.waitFor(d.After.Serialise.waitReason()), nil
}

// movesPaths reports whether the job's product goes by its files, and these are others now.
func (d Decision) movesPaths() bool {
	return d.After.Serialise == SerialisePaths && !slices.Equal(d.Before.Files, d.After.Files)
}

// declare says for which files a job has its slot that is worked on: an edit keeps others from
// them, and takes nothing from those who work on them already.
func (a *admission) declare(d Decision) error {
	if !d.After.Status.Leased() || !d.movesPaths() {
		return nil
	}
	return q.SlotFiles(a.ctx, a.tx, d.After.claimed(), a.workspace, d.After.ID)
}

// admitNew decides on the admission of new jobs, which are not written yet.
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
			*j = Decision{After: *j}.waitFor(WaitReviewBacklog).After
		} else {
			rest = append(rest, j)
		}
	}
	busy, err := a.busy(rest)
	for _, j := range rest {
		if busy[j.ID] {
			*j = Decision{After: *j}.waitFor(j.Serialise.waitReason()).After
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
	n, err := q.InReviewCount(a.ctx, a.tx, a.workspace, j.ProductID, *j.ReviewLimit)
	return n >= *j.ReviewLimit, err
}

// busy gives those of the jobs whose repo's slot cannot be theirs: of each repo
// the most urgent job may have it, unless another job has it already. Where jobs share
// their repo it gives those whose files cannot be theirs.
func (a *admission) busy(list []*Job) (map[ids.ID]bool, error) {
	first := map[string]*Job{}
	busy := map[ids.ID]bool{}
	var byPath []*Job
	for _, j := range list {
		if j.Repo == "" || j.Serialise.orDefault() == SerialiseNone {
			continue
		}
		if j.Serialise == SerialisePaths {
			byPath = append(byPath, j)
			continue
		}
		busy[j.ID] = true
		if head := first[j.Repo]; head == nil || j.Priority > head.Priority {
			first[j.Repo] = j
		}
	}
	if err := a.markCrowded(byPath, busy); err != nil || len(first) == 0 {
		return busy, err
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
	if free, err = lockSlotsTx(a.ctx, a.tx, a.workspace, free); err != nil {
		return nil, err
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
	taken, err := slotsTx(a.ctx, a.tx, a.workspace, repos)
	if err != nil {
		return nil, err
	}
	holders := map[string][]slot{}
	for _, s := range taken {
		holders[s.Repo] = append(holders[s.Repo], s)
	}
	var free []string
	for _, repo := range repos {
		j, list := first[repo], holders[repo]
		yielding := make([]ids.ID, 0, len(list))
		for _, s := range list {
			if s.JobID != j.ID && Status(s.Status) == Ready && s.Priority < j.Priority {
				yielding = append(yielding, s.JobID)
			}
		}
		switch {
		case len(list) == 0:
			free = append(free, repo)
		case len(list) == 1 && list[0].JobID == j.ID:
			delete(busy, j.ID)
		case len(yielding) == len(list):
			yielded, err := a.preempt(yielding, j.Priority)
			if err != nil {
				return nil, err
			}
			if yielded {
				a.take(repo, j, busy)
			}
		}
	}
	return free, nil
}

// take notes that the job is to have the slot.
func (a *admission) take(repo string, j *Job, busy map[ids.ID]bool) {
	a.slots = append(a.slots, slot{Repo: repo, JobID: j.ID})
	delete(busy, j.ID)
}

// preempt holds the ready jobs that have slots, for a more urgent one. It reports
// false where one of them is being claimed or changed at this moment.
func (a *admission) preempt(list []ids.ID, priority int) (bool, error) {
	for _, id := range list {
		if yields, err := yieldSlotTx(a.ctx, a.tx, a.workspace, id, priority); err != nil || !yields {
			return false, err
		}
	}
	for _, id := range list {
		job, err := LoadTx(a.ctx, a.tx, a.workspace, id.String())
		if err != nil {
			return false, err
		}
		d, err := job.Hold(job.Serialise.waitReason())
		if err != nil {
			return false, err
		}
		if _, err := writeTx(a.ctx, a.tx, a.workspace, []Change{{tenancy.System(a.workspace, "admission"), d}}); err != nil {
			return false, err
		}
	}
	return true, nil
}

// takeSlots gives the admitted jobs, written by now, their slots.
func (a *admission) takeSlots() error {
	if len(a.slots) == 0 {
		return nil
	}
	n, err := insertSlotsTx(a.ctx, a.tx, a.workspace, a.slots)
	if err == nil && n != len(a.slots) {
		err = fmt.Errorf("take slots of %v: only %d were free", a.slots, n)
	}
	return err
}

// openTimeout bounds what a change does for other jobs after its own work is done.
const openTimeout = 5 * time.Second

// leftRepo lets in the next jobs of a repo that a ready job left by an edit or a
// link, or where it is no more the most urgent one, or where it or one that waits for paths
// means to touch others now. The change itself is saved, whatever comes of this; the sweep
// does what it leaves.
func (s *Service) leftRepo(ctx context.Context, workspace ids.ID, before, after Job) {
	moved := before.Serialise == SerialisePaths && !slices.Equal(before.Files, after.Files)
	stays := after.Status == before.Status && after.Repo == before.Repo && after.Priority >= before.Priority && !moved
	if before.Repo == "" || before.Serialise.orDefault() == SerialiseNone || stays ||
		before.Status != Ready && before.WaitReason != WaitPathsBusy {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTimeout)
	defer cancel()
	s.letIn(ctx, workspace, before.Repo, before.Serialise)
}

// letIn lets in the next jobs of a repo that a job of such a product has left.
func (s *Service) letIn(ctx context.Context, workspace ids.ID, repo string, left Serialise) {
	var next []ids.ID
	err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		next, err = NextInRepoTx(ctx, tx, workspace, repo, left)
		return err
	})
	if err != nil {
		return
	}
	for _, id := range next {
		_, _ = s.promoteOne(ctx, tenancy.System(workspace, "admission"), id)
	}
}

// lookAgain lets in what waits in repos only because somebody else was deciding about them at
// that moment. The sweep does what this leaves.
func (s *Service) lookAgain(ctx context.Context, workspace ids.ID, repos []string) {
	if len(repos) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTimeout)
	defer cancel()
	for _, repo := range repos {
		s.letIn(ctx, workspace, repo, SerialisePaths)
	}
}

// reconcileBatch is how many jobs a change of a product moves at once, each way, and
// reconcileRounds how often it does so.
const (
	reconcileBatch  = 200
	reconcileRounds = 5
)

// DemoteExcess puts to waiting, in one workspace and at most 200 in each call, jobs
// that are ready although another job has the slot that they would need: what was
// ready before the product said so. It returns how many. Where the
// slot is free the most urgent one gets it and stays ready.
func (s *Service) DemoteExcess(ctx context.Context, workspace ids.ID) (int, error) {
	var list []ids.ID
	err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		list, err = q.SlotSurplus(ctx, tx, workspace, reconcileBatch)
		return err
	})
	if err != nil {
		return 0, err
	}
	who := tenancy.System(workspace, "admission")
	held := 0
	var failed error
	for _, id := range list {
		job, err := s.Change(ctx, who, func(tx db.Tx) (Job, error) { return admitAgainTx(ctx, tx, who, id) })
		if job.Status == Waiting && err == nil {
			held++
		}
		failed = errors.Join(failed, err)
	}
	return held, failed
}

// admitAgainTx checks for a ready job, as though it became so now, whether its repo's
// slot can be its own, and holds it where not.
func admitAgainTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id ids.ID) (Job, error) {
	locked, err := LockTx(ctx, tx, who.Workspace, id.String())
	if err != nil || locked.Status != Ready {
		return locked.Job, err
	}
	if err := WithdrawTx(ctx, tx, who.Workspace, locked); err != nil {
		return Job{}, err
	}
	a := admission{ctx: ctx, tx: tx, workspace: who.Workspace}
	busy, err := a.busy([]*Job{&locked.Job})
	if err != nil {
		return Job{}, err
	}
	if !busy[id] {
		return locked.Job, a.takeSlots()
	}
	d, err := locked.Hold(locked.Serialise.waitReason())
	if err != nil {
		return Job{}, err
	}
	return SaveTx(ctx, tx, who, d)
}

// reconcile moves the jobs of a workspace to where its products' settings want them,
// at most 1,000 each way. What stays ready for the sweep may be claimed beside
// another job of its repo, so few are left to it.
func (s *Service) reconcile(ctx context.Context, workspace ids.ID) error {
	for range reconcileRounds {
		held, err := s.DemoteExcess(ctx, workspace)
		if err != nil {
			return err
		}
		freed, err := s.promoteFreed(ctx, workspace)
		if err != nil || held+freed == 0 {
			return err
		}
	}
	return nil
}

// promoteFreed makes jobs claimable that a setting or a repo held and holds no
// more, at most reconcileBatch. It returns how many.
func (s *Service) promoteFreed(ctx context.Context, workspace ids.ID) (int, error) {
	var list []ids.ID
	err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		list, err = HeldFreedTx(ctx, tx, workspace, reconcileBatch)
		return err
	})
	if err != nil {
		return 0, err
	}
	who := tenancy.System(workspace, "admission")
	freed := 0
	var failed error
	for _, id := range list {
		job, err := s.promoteOne(ctx, who, id)
		if job.Status == Ready && err == nil {
			freed++
		}
		failed = errors.Join(failed, err)
	}
	return freed, failed
}

// PromoteTx makes one waiting job claimable, or says what it waits for now. It returns
// the job before and after; changed is false where it waits for the same as before.
func PromoteTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id ids.ID) (before, after Job, changed bool, err error) {
	locked, err := LockTx(ctx, tx, who.Workspace, id.String())
	if err != nil {
		return Job{}, Job{}, false, err
	}
	open, err := DependencyOpenTx(ctx, tx, who.Workspace, id)
	if err != nil {
		return Job{}, Job{}, false, fmt.Errorf("dependencies of %s: %w", locked.Key, err)
	}
	d, ok := locked.Promote(open)
	if !ok {
		return locked.Job, locked.Job, false, nil
	}
	saved, err := SaveTx(ctx, tx, who, d)
	if err != nil {
		return Job{}, Job{}, false, err
	}
	return locked.Job, saved, saved.Version != locked.Version, nil
}

// promoteOne is PromoteTx in a transaction of its own.
func (s *Service) promoteOne(ctx context.Context, who tenancy.Principal, id ids.ID) (Job, error) {
	return s.Change(ctx, who, func(tx db.Tx) (Job, error) {
		_, after, _, err := PromoteTx(ctx, tx, who, id)
		return after, err
	})
}

// slotsOfProductTx gives the slots of a product's repos to the jobs that are worked
// on: of a repo that jobs share, to all of them, whatever they touch. All others are given up.
func slotsOfProductTx(ctx context.Context, tx db.Tx, workspace ids.ID, p Product) error {
	if err := q.SlotClear(ctx, tx, workspace, p.ID); err != nil || p.Serialise == SerialiseNone {
		return err
	}
	list, err := workedTx(ctx, tx, workspace, p.ID)
	if err != nil {
		return err
	}
	a := admission{ctx: ctx, tx: tx, workspace: workspace}
	if p.Serialise == SerialisePaths {
		for _, j := range list {
			a.slots = append(a.slots, slot{Repo: j.Repo, JobID: j.ID, Files: j.claimed()})
		}
		return a.takeSlots()
	}
	if _, err := a.busy(list); err != nil {
		return err
	}
	return a.takeSlots()
}
