package jobs

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Purge deletes a finished job with its content, logs and attempts. Its events become
// one, job.purged, with its key, the SHA-256 of its title and its times. What it spent
// stays on the books.
//
// Faults: Forbidden; NotFound; InvalidTransition with the detail "status" for a job
// that has not ended; InUse with the detail "dependents", at most 20 keys, for one
// that others wait for or have as their parent.
func (s *Service) Purge(ctx context.Context, who tenancy.Principal, keyOrID string) error {
	if !who.Can(tenancy.Manage) {
		return fault.New(fault.Forbidden, "Only owners and admins delete jobs.")
	}
	_, err := s.Change(ctx, who, func(tx db.Tx) (Job, error) {
		locked, err := LockTx(ctx, tx, who.Workspace, keyOrID)
		if err != nil {
			return Job{}, err
		}
		if !locked.Status.Finished() {
			return Job{}, fault.New(fault.InvalidTransition,
				"%s is %s. Failed, aborted, completed and archived jobs can be deleted.", locked.Key, locked.Status).
				With("status", string(locked.Status))
		}
		dependents, err := dependentsTx(ctx, tx, who.Workspace, locked.ID, maxChildren)
		if err != nil {
			return Job{}, err
		}
		if len(dependents) > 0 {
			return Job{}, fault.New(fault.InUse, "%s depends on %s. Take the link away first.", dependents[0], locked.Key).
				With("dependents", dependents)
		}
		sum, removed, err := purgeTx(ctx, tx, who, locked.ID)
		if err != nil || s.folds == nil {
			return locked.Job, err
		}
		return locked.Job, s.folds.FoldTx(ctx, tx, who.Workspace, sum, removed)
	})
	return err
}
