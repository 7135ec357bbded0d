package actions

import (
	"context"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Undo takes back the last act on a job, within jobs.UndoFor of it and only while the
// job has the version that the act gave it. What the act let go on waits again; where
// an agent has claimed any of it, nothing is undone. A pause that an agent was directed
// to and has not answered is withdrawn.
//
// Faults: Forbidden; NotFound; VersionConflict where the job has moved on, with the
// current job as the detail "job"; InvalidTransition where its last act cannot be
// undone, or what waited for it was claimed.
func (s *Service) Undo(ctx context.Context, who tenancy.Principal, keyOrID string, version int) (jobs.Job, error) {
	if !who.Can(tenancy.WriteJobs) {
		return jobs.Job{}, fault.New(fault.Forbidden, "Your role does not allow changing jobs.")
	}
	var own lease.Change
	var others []lease.Change
	job, err := s.jobs.Change(ctx, who, func(tx db.Tx) (jobs.Job, error) {
		own, others = lease.Change{}, nil
		locked, err := jobs.LockTx(ctx, tx, who.Workspace, keyOrID)
		if err != nil {
			return jobs.Job{}, err
		}
		if err := locked.CheckVersion(&version); err != nil {
			return jobs.Job{}, err
		}
		if locked.Status.Leased() {
			after, err := withdrawPause(ctx, tx, who, locked)
			own = lease.Change{Before: locked.Job, After: after}
			return after, err
		}
		saved, released, err := undoTx(ctx, tx, who, locked)
		own, others = lease.Change{Before: locked.Job, After: saved}, released
		return saved, err
	})
	if err != nil {
		return job, err
	}
	s.effects.AfterCommit(ctx, who.Workspace, others...)
	s.effects.PromoteNext(ctx, who.Workspace, own)
	return job, nil
}

// undoTx takes back what the last act did to a job, to its attempt and to what waited
// for it.
func undoTx(ctx context.Context, tx db.Tx, who tenancy.Principal, locked jobs.Locked) (jobs.Job, []lease.Change, error) {
	if err := jobs.WithdrawTx(ctx, tx, who.Workspace, locked); err != nil {
		return jobs.Job{}, nil, err
	}
	act, err := jobs.LastActTx(ctx, tx, who.Workspace, locked.Job)
	if err != nil {
		return jobs.Job{}, nil, err
	}
	if act.Type == eventlog.JobRanked {
		saved, err := jobs.UndoRankTx(ctx, tx, who, locked, act)
		return saved, nil, err
	}
	open, err := jobs.DependencyOpenTx(ctx, tx, who.Workspace, locked.ID)
	if err != nil {
		return jobs.Job{}, nil, fmt.Errorf("dependencies of %s: %w", locked.Key, err)
	}
	d, err := locked.Undo(act, open)
	if err != nil {
		return jobs.Job{}, nil, err
	}
	if act.Type == eventlog.JobRejected {
		if err := q.AttemptAccept(ctx, tx, who.Workspace, locked.ID, locked.Epoch); err != nil {
			return jobs.Job{}, nil, err
		}
	}
	saved, err := jobs.SaveTx(ctx, tx, who, d)
	if err != nil {
		return jobs.Job{}, nil, err
	}
	if saved.Status == jobs.Completed {
		others, err := lease.PromoteDependentsTx(ctx, tx, who.Workspace, saved)
		return saved, others, err
	}
	others, err := lease.HoldDependentsTx(ctx, tx, who.Workspace, saved, *act.SavedAt)
	return saved, others, err
}
