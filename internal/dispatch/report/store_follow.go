package report

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// mergePullTx returns the work that a job merges by pull request.
func mergePullTx(ctx context.Context, tx db.Tx, workspace, merge ids.ID) (ids.ID, error) {
	row, err := q.JobMergePull(ctx, tx, workspace, merge)
	if errors.Is(err, pgx.ErrNoRows) {
		return ids.Nil, fault.Invalid("job", "It must be a job that merges work by a pull request.")
	}
	if err != nil {
		return ids.Nil, err
	}
	return row, nil
}

// saveFollowTx takes the lease off its seat and its repo's slot, and notes the pull request.
func saveFollowTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Job, pull PullRequest) error {
	if err := q.LeaseHoldSlot(ctx, tx, who.Workspace, job.ID); err != nil {
		return err
	}
	n, err := q.LeaseFollow(ctx, tx, dbsqlc.LeaseFollowParams{WorkspaceID: who.Workspace, JobID: job.ID, Epoch: job.Epoch,
		AgentID: who.Agent, Most: fleet.MaxFollowed})
	if err != nil {
		return err
	}
	if n == 0 {
		return tooManyFollowed(who.Name)
	}
	if _, err := q.SlotLeave(ctx, tx, who.Workspace, job.ID); err != nil {
		return err
	}
	return q.JobMergePullSave(ctx, tx, dbsqlc.JobMergePullSaveParams{WorkspaceID: who.Workspace, MergeJobID: job.ID, Url: pull.URL,
		Number: pull.Number, Branch: pull.Branch})
}
