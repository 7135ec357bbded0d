package recovery

import (
	"context"
	"errors"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// Promote makes claimable, in every workspace, the jobs whose time has come and
// those that a repo or a review place held which is free again. It returns how
// many.
func (s *Service) Promote(ctx context.Context) (int, error) {
	var due map[ids.ID][]ids.ID
	var held []ids.ID
	err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		if due, err = dueJobs(ctx, tx); err != nil {
			return err
		}
		held, err = heldWorkspaces(ctx, tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	total := 0
	var failed error
	for workspace, list := range due {
		n, err := s.effects.PromoteAll(ctx, workspace, list)
		total, failed = total+n, errors.Join(failed, err)
	}
	for _, workspace := range held {
		n, err := s.promoteFreed(ctx, workspace)
		total, failed = total+n, errors.Join(failed, err)
	}
	return total, failed
}

// promoteDue makes claimable the jobs of one workspace whose time has come.
func (s *Service) promoteDue(ctx context.Context, workspace ids.ID) (int, error) {
	var due map[ids.ID][]ids.ID
	err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		due, err = dueJobs(ctx, tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	return s.effects.PromoteAll(ctx, workspace, due[workspace])
}

// promoteFreed makes claimable what was held in one workspace and is held no
// more, where nobody noticed.
func (s *Service) promoteFreed(ctx context.Context, workspace ids.ID) (int, error) {
	var list []ids.ID
	err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		list, err = jobs.HeldFreedTx(ctx, tx, workspace, lease.MaxSwept)
		return err
	})
	if err != nil {
		return 0, err
	}
	return s.effects.PromoteAll(ctx, workspace, list)
}

// SweepDependencies finds jobs that wait for nothing any more, in every
// workspace: what the limit of a completion, or a crash, left behind, and what a budget
// has enough left for. Jobs that are
// ready where their product allows fewer wait from then on. It returns how many
// were made claimable.
func (s *Service) SweepDependencies(ctx context.Context) (int, error) {
	return s.everywhere(ctx, func(ctx context.Context, workspace ids.ID) (int, error) {
		_, excess := s.jobs.DemoteExcess(ctx, workspace)
		n, err := s.effects.PromoteIndependent(ctx, workspace)
		woken, budgets := s.effects.WakeForBudgets(ctx, workspace)
		return n + woken, errors.Join(excess, err, budgets)
	})
}

// everywhere does something in one workspace after the other. A workspace where
// it fails does not stop the others.
func (s *Service) everywhere(ctx context.Context, do func(context.Context, ids.ID) (int, error)) (total int, failed error) {
	var list []ids.ID
	err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		list, err = workspaces(ctx, tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, workspace := range list {
		n, err := do(ctx, workspace)
		total, failed = total+n, errors.Join(failed, err)
	}
	return total, failed
}
