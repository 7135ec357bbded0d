package dispatch

import (
	"context"
	"errors"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// promotions is how many dependents one completion makes claimable itself; the
// sweep does the rest.
const promotions = 100

// promoter is the loop that events name as what made a job claimable.
const promoter = "promotion"

// Promote makes claimable, in every workspace, the jobs whose time has come and
// those that a repo or a review place held which is free again. It returns how
// many.
func (s *Service) Promote(ctx context.Context) (int, error) {
	due := map[ids.ID][]ids.ID{}
	var held []ids.ID
	err := s.db.InSystem(ctx, func(tx db.Tx) error {
		rows, err := q.JobDue(ctx, tx, sweepSize)
		if err != nil {
			return err
		}
		for _, r := range rows {
			due[r.WorkspaceID] = append(due[r.WorkspaceID], r.ID)
		}
		held, err = q.JobHeldWorkspaces(ctx, tx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("due jobs: %w", err)
	}
	total := 0
	var failed error
	for workspace, list := range due {
		n, err := s.promoteAll(ctx, workspace, list)
		total, failed = total+n, errors.Join(failed, err)
	}
	for _, workspace := range held {
		n, err := s.promoteFreed(ctx, workspace)
		total, failed = total+n, errors.Join(failed, err)
	}
	return total, failed
}

// promoteFreed makes claimable what was held in one workspace and is held no
// more, where nobody noticed.
func (s *Service) promoteFreed(ctx context.Context, workspace ids.ID) (int, error) {
	var list []ids.ID
	err := s.db.InWorkspace(ctx, workspace, func(tx db.Tx) (err error) {
		list, err = jobs.HeldFreedTx(ctx, tx, workspace, sweepSize)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("held jobs: %w", err)
	}
	return s.promoteAll(ctx, workspace, list)
}

// SweepDependencies finds jobs that wait for nothing any more, in every
// workspace: what the cap of a completion, or a crash, left behind. Jobs that are
// ready where their product allows fewer wait from then on. It returns how many
// were made claimable.
func (s *Service) SweepDependencies(ctx context.Context) (int, error) {
	return s.everywhere(ctx, func(ctx context.Context, workspace ids.ID) (int, error) {
		_, surplus := s.jobs.DemoteExcess(ctx, workspace)
		n, err := s.promoteIndependent(ctx, workspace)
		return n, errors.Join(surplus, err)
	})
}

// promoteIndependent makes claimable, in one workspace, the jobs that wait for
// others all of which are completed.
func (s *Service) promoteIndependent(ctx context.Context, workspace ids.ID) (int, error) {
	var list []ids.ID
	err := s.db.InWorkspace(ctx, workspace, func(tx db.Tx) (err error) {
		list, err = q.JobDependencyFreed(ctx, tx, dbsqlc.JobDependencyFreedParams{WorkspaceID: workspace, MaxRows: sweepSize})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("freed jobs: %w", err)
	}
	return s.promoteAll(ctx, workspace, list)
}

// everywhere does something in one workspace after the other. A workspace where
// it cannot be done does not keep the others.
func (s *Service) everywhere(ctx context.Context, do func(context.Context, ids.ID) (int, error)) (total int, failed error) {
	var workspaces []ids.ID
	err := s.db.InSystem(ctx, func(tx db.Tx) (err error) {
		workspaces, err = q.WorkspaceIDs(ctx, tx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("list workspaces: %w", err)
	}
	for _, workspace := range workspaces {
		n, err := do(ctx, workspace)
		total, failed = total+n, errors.Join(failed, err)
	}
	return total, failed
}

// promoteAll promotes each job in a transaction of its own. One that cannot be
// had now does not keep the others.
func (s *Service) promoteAll(ctx context.Context, workspace ids.ID, list []ids.ID) (int, error) {
	return forEachJob(list, func(id ids.ID) (ok bool, err error) {
		var job jobs.Job
		err = s.db.InWorkspace(ctx, workspace, func(tx db.Tx) error {
			promoted, err := promoteTx(ctx, tx, tenancy.System(workspace, promoter), id)
			job, ok = promoted.after, promoted.happened()
			return err
		})
		if ok = ok && err == nil; ok {
			s.wake.Publish(jobs.Topics(workspace, job)...)
		}
		return ok, err
	})
}

// promoteDependentsTx makes claimable what waited for a job that has just been
// completed, in the same transaction.
func promoteDependentsTx(ctx context.Context, tx db.Tx, workspace ids.ID, done jobs.Job) ([]change, error) {
	if done.Status != jobs.Completed {
		return nil, nil
	}
	waiting, err := dependentsTx(ctx, tx, workspace, done, jobs.Blocks, jobs.Gate)
	if err != nil {
		return nil, err
	}
	var promoted []change
	for _, id := range waiting {
		one, err := promoteTx(ctx, tx, tenancy.System(workspace, promoter), id)
		if err != nil {
			return nil, err
		}
		if one.happened() {
			promoted = append(promoted, one)
		}
	}
	return promoted, nil
}

// openGates makes claimable the parents that waited until a job ended, however it did.
func (s *Service) openGates(ctx context.Context, workspace ids.ID, ended jobs.Job) error {
	var parents []ids.ID
	err := s.db.InWorkspace(ctx, workspace, func(tx db.Tx) (err error) {
		parents, err = dependentsTx(ctx, tx, workspace, ended, jobs.Gate)
		return err
	})
	if err != nil {
		return err
	}
	_, err = s.promoteAll(ctx, workspace, parents)
	return err
}

// holdParentsTx keeps ready parents from being claimed that are to wait for a child of
// which the next attempt begins, in the same transaction.
func holdParentsTx(ctx context.Context, tx db.Tx, workspace ids.ID, child jobs.Job) ([]change, error) {
	parents, err := q.JobReadyParents(ctx, tx, dbsqlc.JobReadyParentsParams{WorkspaceID: workspace, JobID: child.ID})
	if err != nil {
		return nil, fmt.Errorf("parents of %s: %w", child.Key, err)
	}
	var held []change
	for _, id := range parents {
		parent, err := jobs.LockTx(ctx, tx, workspace, id.String())
		if err != nil {
			return nil, err
		}
		if parent.Status != jobs.Ready {
			continue
		}
		if err := jobs.WithdrawTx(ctx, tx, workspace, parent); err != nil {
			return nil, err
		}
		d, err := parent.Hold(jobs.WaitDependency)
		if err != nil {
			return nil, err
		}
		saved, err := jobs.SaveTx(ctx, tx, tenancy.System(workspace, promoter), d)
		if err != nil {
			return nil, err
		}
		held = append(held, change{before: parent.Job, after: saved})
	}
	return held, nil
}

// dependentsTx are the jobs that wait for one by links of these types.
func dependentsTx(ctx context.Context, tx db.Tx, workspace ids.ID, job jobs.Job, types ...jobs.LinkType) ([]ids.ID, error) {
	params := dbsqlc.JobDependentsParams{WorkspaceID: workspace, JobID: job.ID, MaxRows: promotions}
	for _, t := range types {
		params.Types = append(params.Types, string(t))
	}
	waiting, err := q.JobDependents(ctx, tx, params)
	if err != nil {
		return nil, fmt.Errorf("dependents of %s: %w", job.Key, err)
	}
	return waiting, nil
}

// promoteTx makes one waiting job claimable, or says what holds it now. The zero
// change: it waits for the same as before.
func promoteTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id ids.ID) (change, error) {
	before, after, changed, err := jobs.PromoteTx(ctx, tx, who, id)
	if err != nil || !changed {
		return change{}, err
	}
	return change{before: before, after: after}, nil
}
