package stop

import (
	"context"
	"errors"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// EnforceStops carries out, in every workspace, what stops and releases have left: holders of
// stopped jobs are directed to pause, and what nothing stops any more goes on. It returns how
// many jobs it changed.
func (s *Service) EnforceStops(ctx context.Context) (int, error) {
	var workspaces []ids.ID
	err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		workspaces, err = q.StopWorkspaces(ctx, tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	total := 0
	var failed error
	for _, workspace := range workspaces {
		n, err := s.enforce(ctx, workspace)
		total, failed = total+n, errors.Join(failed, err)
	}
	return total, failed
}

// enforce is EnforceStops in one workspace.
func (s *Service) enforce(ctx context.Context, workspace ids.ID) (int, error) {
	directed, err := s.inBatches(ctx, workspace, directTx)
	if err != nil {
		return directed, err
	}
	eased, err := s.inBatches(ctx, workspace, easeTx)
	if err != nil {
		return directed + eased, err
	}
	resumed, err := s.resume(ctx, workspace)
	if err != nil {
		return directed + eased + resumed, err
	}
	return directed + eased + resumed, s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		return q.StopForget(ctx, tx, workspace)
	})
}

// inBatches changes leases until there are no more to change, and wakes whoever looks at
// their jobs. While somebody writes a stop it leaves the rest to them: by a stop that is being
// released it would direct what nothing takes back any more.
func (s *Service) inBatches(
	ctx context.Context, workspace ids.ID, change func(context.Context, db.Tx, ids.ID) ([]ids.ID, error),
) (int, error) {
	total := 0
	for {
		var list []ids.ID
		var changed []jobs.Job
		err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
			free, err := q.StopTryShare(ctx, tx, fleet.StopLock(workspace))
			if err != nil || !free {
				return err
			}
			if list, err = change(ctx, tx, workspace); err != nil || len(list) == 0 {
				return err
			}
			changed, err = jobs.LoadManyTx(ctx, tx, workspace, list)
			return err
		})
		if err != nil || len(list) == 0 {
			return total, err
		}
		total += len(list)
		s.effects.Publish(workspace, nil, changed...)
		if len(list) < lease.MaxSwept {
			return total, nil
		}
	}
}

// resume lets the jobs go on that a stop has paused and none covers any more.
func (s *Service) resume(ctx context.Context, workspace ids.ID) (int, error) {
	total := 0
	for {
		var list []ids.ID
		err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
			list, err = q.JobsPausedByStop(ctx, tx, workspace, lease.MaxSwept)
			return err
		})
		if err != nil || len(list) == 0 {
			return total, err
		}
		n, err := s.effects.ResumePausedBy(ctx, workspace, actor, list)
		total += n
		if err != nil || n < len(list) || len(list) < lease.MaxSwept {
			return total, err
		}
	}
}
