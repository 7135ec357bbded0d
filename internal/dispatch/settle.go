package dispatch

import (
	"context"
	"fmt"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
)

// afterCommitTimeout bounds what a request does for others after its own work is done.
const afterCommitTimeout = 5 * time.Second

// change is a job before and after something was done to it.
type change struct {
	before, after jobs.Job
}

// happened is false for the zero change.
func (c change) happened() bool { return c.after.Key != "" }

// freesSeat reports whether a lease ended with the change.
func (c change) freesSeat() bool { return c.before.Lease != nil && c.after.Lease == nil }

// freesRepo reports whether the next job of the repo may come: the job was the
// one of its repo that could be worked on, and is no more.
func (c change) freesRepo() bool {
	return c.before.OneJobPerRepo && c.before.Repo != "" && occupies(c.before.Status) && !occupies(c.after.Status)
}

// freesReview reports whether the product's review queue has a place more.
func (c change) freesReview() bool {
	return c.before.ReviewLimit != nil && c.before.Status == jobs.InReview && c.after.Status != jobs.InReview
}

// opensGates reports whether the job has ended without being completed. Its parents may
// go on all the same; those of a completed one do so with the completion.
func (c change) opensGates() bool {
	return !c.before.Status.Finished() && c.after.Status.Finished() && c.after.Status != jobs.Completed
}

// occupies reports whether a job in this status keeps its repo from others.
func occupies(s jobs.Status) bool { return s == jobs.Ready || s.Leased() }

// afterCommit is what follows the commit of changes: who waits for what they mean is
// woken, and what they freed is handed on.
func (s *Service) afterCommit(ctx context.Context, workspace ids.ID, list ...change) {
	s.notifyChanged(workspace, list)
	s.promoteNext(ctx, workspace, list)
}

// notifyChanged wakes who waits for what changes mean.
func (s *Service) notifyChanged(workspace ids.ID, list []change) {
	if len(list) == 0 {
		return
	}
	changed := make([]jobs.Job, 0, len(list))
	for _, c := range list {
		changed = append(changed, c.after)
	}
	s.publish(workspace, seatsOf(list), changed...)
}

// seatsOf are the factories of which the changes freed seats.
func seatsOf(list []change) []ids.ID {
	var factories []ids.ID
	for _, c := range list {
		if c.freesSeat() {
			factories = append(factories, c.before.Lease.FactoryID)
		}
	}
	return factories
}

// promoteNext gives the repos and the review places that changes freed to the most
// urgent jobs that were held for them, and lets parents go on that waited. An error there is not the caller's: the
// sweep mends it.
func (s *Service) promoteNext(ctx context.Context, workspace ids.ID, list []change) {
	repos, products := map[string]bool{}, map[ids.ID]bool{}
	for _, c := range list {
		if c.freesRepo() {
			repos[c.before.Repo] = true
		}
		if c.freesReview() {
			products[c.before.ProductID] = true
		}
	}
	// What the caller asked for is done; that it went away keeps nobody waiting.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterCommitTimeout)
	defer cancel()
	for product := range products {
		if err := s.freeReviewPlace(ctx, workspace, product); err != nil {
			s.log.WarnContext(ctx, "a review place is free", "err", err)
		}
	}
	for repo := range repos {
		if err := s.freeRepoSlot(ctx, workspace, repo); err != nil {
			s.log.WarnContext(ctx, "a repo is free", "err", err)
		}
	}
	for _, c := range list {
		if !c.opensGates() {
			continue
		}
		if err := s.openGates(ctx, workspace, c.after); err != nil {
			s.log.WarnContext(ctx, "a child has ended", "err", err)
		}
	}
	if promotedIn(list) >= promotions {
		if err := s.promoteRest(ctx, workspace); err != nil {
			s.log.WarnContext(ctx, "a job with many dependents is done", "err", err)
		}
	}
}

// promotedIn counts the jobs that changes made claimable for their dependencies.
func promotedIn(list []change) int {
	n := 0
	for _, c := range list {
		if c.before.WaitReason == jobs.WaitDependency && c.after.Status == jobs.Ready {
			n++
		}
	}
	return n
}

// promoteRest makes claimable what the cap of a completion left waiting.
func (s *Service) promoteRest(ctx context.Context, workspace ids.ID) error {
	for ctx.Err() == nil {
		n, err := s.promoteIndependent(ctx, workspace)
		if err != nil || n < sweepSize {
			return err
		}
	}
	return nil
}

// freeReviewPlace lets in the next job that waits for a place in a product's review
// queue, and wakes the claims that its full queue kept from jobs that were ready
// already.
func (s *Service) freeReviewPlace(ctx context.Context, workspace, product ids.ID) error {
	var lanes []int64
	var next []ids.ID
	err := s.db.InWorkspace(ctx, workspace, func(tx db.Tx) (err error) {
		lanes, err = q.ReadyLanesOfProduct(ctx, tx, dbsqlc.ReadyLanesOfProductParams{WorkspaceID: workspace, ProductID: product})
		if err != nil {
			return fmt.Errorf("lanes of product: %w", err)
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
	s.wake.Publish(topics...)
	_, err = s.promoteAll(ctx, workspace, next)
	return err
}

// freeRepoSlot lets in the next job that waits for a repo, in a transaction of its
// own: whoever left the repo has committed.
func (s *Service) freeRepoSlot(ctx context.Context, workspace ids.ID, repo string) error {
	var next ids.ID
	var held bool
	err := s.db.InWorkspace(ctx, workspace, func(tx db.Tx) (err error) {
		next, held, err = jobs.HeldByRepoTx(ctx, tx, workspace, repo)
		return err
	})
	if err != nil || !held {
		return err
	}
	_, err = s.promoteAll(ctx, workspace, []ids.ID{next})
	return err
}
