package lease

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// AfterCommitTimeout bounds what a request does for others after its own work is done.
const AfterCommitTimeout = 5 * time.Second

// Publisher wakes whoever waits for a topic, in every process.
type Publisher interface{ Publish(topics ...string) }

// Effects are what follows the commit of changes to jobs: whoever waits for what they
// mean is woken, and what they freed goes to the next job.
type Effects struct {
	db   *db.DB
	wake Publisher
	log  *slog.Logger
	// wakings of what ended leases have freed of budgets.
	wakings together
}

// NewEffects returns the effects on the jobs kept in d.
func NewEffects(d *db.DB, wake Publisher, log *slog.Logger) *Effects {
	return &Effects{db: d, wake: wake, log: log}
}

// Wake wakes whoever waits for one of the topics.
func (e *Effects) Wake(topics ...string) { e.wake.Publish(topics...) }

// Publish wakes whoever waits for what changed jobs mean: their lanes, the
// seats that came free, the pages. Each of them once.
func (e *Effects) Publish(workspace ids.ID, factories []ids.ID, changed ...jobs.Job) {
	topics := append(jobs.Topics(workspace, changed...), fleet.Topic(workspace))
	for _, f := range factories {
		topics = append(topics, fleet.SeatTopic(workspace, f))
	}
	slices.Sort(topics)
	e.wake.Publish(slices.Compact(topics)...)
}

// AfterCommit is Notify and PromoteNext.
func (e *Effects) AfterCommit(ctx context.Context, workspace ids.ID, list ...Change) {
	e.Notify(workspace, list...)
	e.PromoteNext(ctx, workspace, list...)
}

// Notify wakes who waits for what changes mean.
func (e *Effects) Notify(workspace ids.ID, list ...Change) {
	if len(list) == 0 {
		return
	}
	changed := make([]jobs.Job, 0, len(list))
	for _, c := range list {
		c.count()
		changed = append(changed, c.After)
	}
	e.Publish(workspace, FreedSeats(list...), changed...)
}

// Warn logs what went wrong after the caller's own part was done.
func (e *Effects) Warn(ctx context.Context, what string, err error) {
	e.log.WarnContext(ctx, what, "err", err)
}

// PromoteNext gives the repos and the review places that changes freed to the most
// urgent jobs that were held for them, and lets parents go on that waited. An error
// there is not the caller's: the sweep does what it leaves.
func (e *Effects) PromoteNext(ctx context.Context, workspace ids.ID, list ...Change) {
	repos, products := map[string]jobs.Serialise{}, map[ids.ID]bool{}
	promoted := 0
	for _, c := range list {
		if c.freesRepo() {
			repos[c.Before.Repo] = c.Before.Serialise
		}
		if c.freesReview() {
			products[c.Before.ProductID] = true
		}
		if c.promotes() {
			promoted++
		}
	}
	// What the caller requested is done; that it went away keeps nobody waiting.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), AfterCommitTimeout)
	defer cancel()
	for product := range products {
		if err := e.freeReviewPlace(ctx, workspace, product); err != nil {
			e.Warn(ctx, "a review place is free", err)
		}
	}
	for repo, left := range repos {
		if err := e.freeRepoSlot(ctx, workspace, repo, left); err != nil {
			e.Warn(ctx, "a repo is free", err)
		}
	}
	for _, c := range list {
		if !c.opensGates() {
			continue
		}
		if err := e.openGates(ctx, workspace, c.After); err != nil {
			e.Warn(ctx, "a child has ended", err)
		}
	}
	if slices.ContainsFunc(list, Change.freesBudget) {
		e.wakings.do(workspace, func() { e.BudgetsFreed(ctx, workspace, nil) })
	}
	if promoted >= maxPromoted {
		if err := e.promoteRest(ctx, workspace); err != nil {
			e.Warn(ctx, "a job with many dependents is done", err)
		}
	}
}

// promoteRest makes claimable what the limit of a completion left waiting.
func (e *Effects) promoteRest(ctx context.Context, workspace ids.ID) error {
	for ctx.Err() == nil {
		n, err := e.PromoteIndependent(ctx, workspace)
		if err != nil || n < MaxSwept {
			return err
		}
	}
	return nil
}

// freeReviewPlace lets in the next job that waits for a place in a product's review
// queue, and wakes the claims that its full queue kept from jobs that were ready
// already.
func (e *Effects) freeReviewPlace(ctx context.Context, workspace, product ids.ID) error {
	var lanes []int64
	var next []ids.ID
	err := e.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		if lanes, err = q.ReadyLanesOfProduct(ctx, tx, workspace, product); err != nil {
			return err
		}
		next, err = jobs.HeldByReviewTx(ctx, tx, workspace, product, 1)
		return err
	})
	if err != nil {
		return err
	}
	topics := make([]string, 0, len(lanes))
	for _, lane := range lanes {
		topics = append(topics, jobs.LaneTopic(workspace, lane))
	}
	e.wake.Publish(topics...)
	_, err = e.PromoteAll(ctx, workspace, next)
	return err
}

// freeRepoSlot lets in the next jobs that wait for a repo or for paths of it, each in a
// transaction of its own: whoever left the repo has committed.
func (e *Effects) freeRepoSlot(ctx context.Context, workspace ids.ID, repo string, left jobs.Serialise) error {
	var next []ids.ID
	err := e.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		next, err = jobs.NextInRepoTx(ctx, tx, workspace, repo, left)
		return err
	})
	if err != nil {
		return err
	}
	_, err = e.PromoteAll(ctx, workspace, next)
	return err
}

// LeftRepo lets in the next jobs of a repo that a job of such a product has left although its
// lease goes on. An error there is not the caller's: the sweep does what it leaves.
func (e *Effects) LeftRepo(ctx context.Context, workspace ids.ID, repo string, left jobs.Serialise) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), AfterCommitTimeout)
	defer cancel()
	if err := e.freeRepoSlot(ctx, workspace, repo, left); err != nil {
		e.Warn(ctx, "a repo is free", err)
	}
}

// openGates makes claimable the parents that waited until a job ended, however it did.
func (e *Effects) openGates(ctx context.Context, workspace ids.ID, ended jobs.Job) error {
	var parents []ids.ID
	err := e.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		parents, err = dependents(ctx, tx, workspace, ended, jobs.Gate)
		return err
	})
	if err != nil {
		return err
	}
	_, err = e.PromoteAll(ctx, workspace, parents)
	return err
}
