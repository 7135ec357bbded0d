package lease

import (
	"context"
	"encoding/json"
	"fmt"

	"fleetboard/db"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// budgetKeeper is what events name as who pauses a job that has used its budget, and
// as the reason.
const budgetKeeper = "budget"

// KeepBudgets asks the holders of those jobs to pause that have used more tokens than
// their budget. An error there is not the caller's: the next contact asks again.
func (e *Effects) KeepBudgets(ctx context.Context, workspace ids.ID, list []ids.ID) {
	if len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), AfterCommitTimeout)
	defer cancel()
	var over []ids.ID
	err := e.db.InWorkspace(ctx, workspace, func(tx db.Tx) (err error) {
		over, err = overBudget(ctx, tx, workspace, list)
		return err
	})
	if err != nil {
		e.log.WarnContext(ctx, "compare usage with budgets", "err", err)
		return
	}
	n, err := ForEachJob(over, func(id ids.ID) (asked bool, err error) {
		err = e.db.InWorkspace(ctx, workspace, func(tx db.Tx) error {
			asked, err = keepBudgetTx(ctx, tx, tenancy.System(workspace, budgetKeeper), id)
			return err
		})
		return asked && err == nil, err
	})
	if n > 0 {
		e.Publish(workspace, nil)
	}
	if err != nil {
		e.log.WarnContext(ctx, "a job has used its budget", "err", err)
	}
}

// keepBudgetTx asks the holder of one job to pause, where it has used its budget and
// is not asked to stop already.
func keepBudgetTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id ids.ID) (bool, error) {
	used, over, err := budgetUsed(ctx, tx, who.Workspace, id)
	if err != nil || !over {
		return false, err
	}
	job, err := jobs.LockTx(ctx, tx, who.Workspace, id.String())
	if err != nil || job.Lease == nil || job.Lease.Directive == Pause || job.Lease.Directive == Cancel {
		return false, err
	}
	payload, err := json.Marshal(map[string]any{"reason": budgetKeeper, "used_tokens": used, "token_budget": job.TokenBudget})
	if err != nil {
		return false, fmt.Errorf("encode payload: %w", err)
	}
	reason := "The job has used more tokens than its token_budget. Somebody raises it, then it goes on."
	_, err = DirectTx(ctx, tx, who, job, Pause, reason, payload)
	return true, err
}

// RequireBudgetTx refuses to let a job go on that would be paused again at its next
// contact.
func RequireBudgetTx(ctx context.Context, tx db.Tx, workspace ids.ID, job jobs.Job) error {
	if job.TokenBudget == nil {
		return nil
	}
	used, over, err := budgetUsed(ctx, tx, workspace, job.ID)
	if err != nil || !over {
		return err
	}
	return fault.New(fault.InvalidTransition, "%s has used %d of %d tokens. Raise or clear its token_budget first.",
		job.Key, used, *job.TokenBudget).With("status", string(job.Status)).With("used_tokens", used)
}
