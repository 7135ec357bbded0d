package report

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// countSubmittedTx counts one more job that an agent created in an attempt, or
// refuses it.
func countSubmittedTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, epoch int64) error {
	_, err := q.AttemptSubmit(ctx, tx, who.Workspace, job, epoch, jobs.MaxFiledPerAttempt)
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.New(fault.Forbidden, "An agent may create at most %d jobs in one attempt.", jobs.MaxFiledPerAttempt)
	}
	if err != nil {
		return err
	}
	return nil
}
