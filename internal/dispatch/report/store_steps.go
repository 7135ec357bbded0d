package report

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/jobs/transcript"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// lockStepsTx locks the lease that steps are written under. held is false where the agent does not have it.
func lockStepsTx(ctx context.Context, tx db.Tx, who tenancy.Principal, of transcript.Attempt) (status lease.Status, held bool, err error) {
	rows, err := q.TranscriptLease(ctx, tx, of.Workspace, of.Job, of.Epoch, who.Agent)
	if err != nil || len(rows) == 0 {
		return lease.Status{}, false, err
	}
	l := rows[0]
	return lease.Status{Epoch: of.Epoch, Directive: l.Directive, Reason: l.DirectiveReason, ExpiresAt: &l.ExpiresAt}, true, nil
}
