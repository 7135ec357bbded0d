package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// maxPromoted is how many dependents one completion makes claimable itself; the
	// sweep does the rest.
	maxPromoted = 100
	// MaxSwept is how many jobs one look at one workspace takes up.
	MaxSwept = 200
	// maxFailures is how many of them may fail before it is given up.
	maxFailures = 10
)

// promoter is the loop that events name as what made a job claimable.
const promoter = "promotion"

// PromoteAll promotes each job in a transaction of its own, and returns how many it
// changed. One that is locked does not stop the others.
func (e *Effects) PromoteAll(ctx context.Context, workspace ids.ID, list []ids.ID) (int, error) {
	return ForEachJob(list, func(id ids.ID) (ok bool, err error) {
		var promoted Change
		err = e.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
			promoted, err = promoteTx(ctx, tx, workspace, id)
			return err
		})
		if ok = promoted.Happened() && err == nil; ok {
			e.wake.Publish(jobs.Topics(workspace, promoted.After)...)
		}
		return ok, err
	})
}

// PromoteIndependent makes claimable, in one workspace, the jobs that wait for
// others all of which are completed, at most MaxSwept. It returns how many.
func (e *Effects) PromoteIndependent(ctx context.Context, workspace ids.ID) (int, error) {
	var list []ids.ID
	err := e.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		list, err = independent(ctx, tx, workspace)
		return err
	})
	if err != nil {
		return 0, err
	}
	return e.PromoteAll(ctx, workspace, list)
}

// PromoteDependentsTx makes claimable what waited for a job that has just been
// completed, in the same transaction.
func PromoteDependentsTx(ctx context.Context, tx db.Tx, workspace ids.ID, done jobs.Job) ([]Change, error) {
	if done.Status != jobs.Completed {
		return nil, nil
	}
	waiting, err := dependents(ctx, tx, workspace, done, jobs.Blocks, jobs.Gate)
	if err != nil {
		return nil, err
	}
	var promoted []Change
	for _, id := range waiting {
		one, err := promoteTx(ctx, tx, workspace, id)
		if err != nil {
			return nil, err
		}
		if one.Happened() {
			promoted = append(promoted, one)
		}
	}
	return promoted, nil
}

// promoteTx makes one waiting job claimable, or says what holds it now. The zero
// change: it waits for the same as before.
func promoteTx(ctx context.Context, tx db.Tx, workspace, id ids.ID) (Change, error) {
	before, after, changed, err := jobs.PromoteTx(ctx, tx, tenancy.System(workspace, promoter), id)
	if err != nil || !changed {
		return Change{}, err
	}
	return Change{Before: before, After: after}, nil
}

// HoldParentsTx keeps ready parents from being claimed that are to wait for a child of
// which the next attempt begins, in the same transaction.
func HoldParentsTx(ctx context.Context, tx db.Tx, workspace ids.ID, child jobs.Job) ([]Change, error) {
	parents, err := readyParents(ctx, tx, workspace, child)
	if err != nil {
		return nil, err
	}
	var held []Change
	for _, id := range parents {
		parent, err := jobs.LockTx(ctx, tx, workspace, id.String())
		if err != nil {
			return nil, err
		}
		if parent.Status != jobs.Ready {
			continue
		}
		one, err := holdTx(ctx, tx, workspace, parent)
		if err != nil {
			return nil, err
		}
		held = append(held, one)
	}
	return held, nil
}

// holdTx keeps a ready job from being claimed, for what it depends on.
func holdTx(ctx context.Context, tx db.Tx, workspace ids.ID, job jobs.Locked) (Change, error) {
	if err := jobs.WithdrawTx(ctx, tx, workspace, job); err != nil {
		return Change{}, err
	}
	d, err := job.Hold(jobs.WaitDependency)
	if err != nil {
		return Change{}, err
	}
	saved, err := jobs.SaveTx(ctx, tx, tenancy.System(workspace, promoter), d)
	return Change{Before: job.Job, After: saved}, err
}

// HoldDependentsTx lets wait again what the end of a job let go on and what it keeps
// now that this was undone, in the same transaction. InvalidTransition where one of
// them was claimed since the end: its work cannot be taken back.
func HoldDependentsTx(ctx context.Context, tx db.Tx, workspace ids.ID, undone jobs.Job, since time.Time) ([]Change, error) {
	list, err := releasedDependents(ctx, tx, workspace, undone, since)
	if err != nil {
		return nil, err
	}
	var held []Change
	for _, id := range list {
		dependent, err := jobs.LockTx(ctx, tx, workspace, id.String())
		if err != nil {
			return nil, err
		}
		open, err := jobs.DependencyOpenTx(ctx, tx, workspace, id)
		if err != nil {
			return nil, fmt.Errorf("dependencies of %s: %w", dependent.Key, err)
		}
		switch {
		case !open:
		case dependent.AssignedAt != nil && !dependent.AssignedAt.Before(since):
			return nil, fault.New(fault.InvalidTransition, "%s, which waited for %s, was claimed meanwhile. Nothing was undone.",
				dependent.Key, undone.Key).With("status", string(undone.Status))
		case dependent.Status == jobs.Ready:
			one, err := holdTx(ctx, tx, workspace, dependent)
			if err != nil {
				return nil, err
			}
			held = append(held, one)
		}
	}
	return held, nil
}

// ForEachJob does something to every job of a list and counts what it changed. A few
// failures do not stop the others; many mean that it is not the jobs.
func ForEachJob(list []ids.ID, do func(ids.ID) (bool, error)) (done int, failed error) {
	failures := 0
	for _, id := range list {
		ok, err := do(id)
		if ok {
			done++
		}
		if err == nil {
			continue
		}
		failed = errors.Join(failed, err)
		if failures++; failures == maxFailures {
			break
		}
	}
	return done, failed
}
