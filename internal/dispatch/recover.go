package dispatch

import (
	"context"
	"errors"
	"fmt"

	"fleetboard/db"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// Recovery is what one round of recovery did.
type Recovery struct {
	TakenBack, Promoted, Warned, TimedOut, CyclesFailed int
}

// Recover does all that the coordinator does, once, in one workspace. What
// cannot be done does not keep the rest from it. Forbidden unless who may run
// the fleet.
func (s *Service) Recover(ctx context.Context, who tenancy.Principal) (Recovery, error) {
	if !who.Can(tenancy.RunFleet) {
		return Recovery{}, fault.New(fault.Forbidden, "Only owners and admins recover the fleet.")
	}
	var r Recovery
	var failed error
	for _, step := range []struct {
		count *int
		do    func(context.Context, ids.ID) (int, error)
	}{
		{&r.TakenBack, func(ctx context.Context, w ids.ID) (int, error) { return s.reapWorkspace(ctx, w, sweepSize) }},
		{&r.TimedOut, func(ctx context.Context, w ids.ID) (int, error) { return s.lateIn(ctx, w, leasesToTimeOut, s.timeOut) }},
		{&r.Warned, func(ctx context.Context, w ids.ID) (int, error) { return s.lateIn(ctx, w, leasesToWarn, s.warn) }},
		{&r.CyclesFailed, s.failCycles},
		{&r.Promoted, s.promoteDue},
		{&r.Promoted, s.promoteIndependent},
		{&r.Promoted, s.promoteFreed},
	} {
		n, err := step.do(ctx, who.Workspace)
		*step.count += n
		failed = errors.Join(failed, err)
	}
	return r, failed
}

// promoteDue makes claimable the jobs of one workspace whose time has come.
func (s *Service) promoteDue(ctx context.Context, workspace ids.ID) (int, error) {
	var due []ids.ID
	err := s.db.InWorkspace(ctx, workspace, func(tx db.Tx) error {
		rows, err := q.JobDue(ctx, tx, sweepSize)
		for _, r := range rows {
			due = append(due, r.ID)
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("due jobs: %w", err)
	}
	return s.promoteAll(ctx, workspace, due)
}
