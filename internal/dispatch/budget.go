package dispatch

import (
	"context"
	"encoding/json"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// budgetKeeper is what events name as who pauses a job that has used its budget, and
// as the reason.
const budgetKeeper = "budget"

// keepBudgets asks the holders of those jobs to pause that have used more tokens than
// their budget. An error there is not the caller's: the next contact asks again.
func (s *Service) keepBudgets(ctx context.Context, workspace ids.ID, list []ids.ID) {
	if len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterCommitTimeout)
	defer cancel()
	var over []ids.ID
	err := s.db.InWorkspace(ctx, workspace, func(tx db.Tx) (err error) {
		over, err = q.JobsToPauseForBudget(ctx, tx, dbsqlc.JobsToPauseForBudgetParams{WorkspaceID: workspace, Ids: list})
		return err
	})
	if err != nil {
		s.log.WarnContext(ctx, "compare usage with budgets", "err", err)
		return
	}
	n, err := forEachJob(over, func(id ids.ID) (asked bool, err error) {
		err = s.db.InWorkspace(ctx, workspace, func(tx db.Tx) error {
			asked, err = keepBudgetTx(ctx, tx, tenancy.System(workspace, budgetKeeper), id)
			return err
		})
		return asked && err == nil, err
	})
	if n > 0 {
		s.publish(workspace, nil)
	}
	if err != nil {
		s.log.WarnContext(ctx, "a job has used its budget", "err", err)
	}
}

// keepBudgetTx asks the holder of one job to pause, where it has used its budget and
// is not asked to stop already.
func keepBudgetTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id ids.ID) (bool, error) {
	used, over, err := overBudgetTx(ctx, tx, who.Workspace, id)
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
	_, err = setDirective(ctx, tx, who, job, Action{Verb: jobs.ByPause, Reason: reason}, payload)
	return true, err
}

// overBudgetTx reports how many tokens a job has used, and whether that is more than
// its budget.
func overBudgetTx(ctx context.Context, tx db.Tx, workspace, id ids.ID) (used int64, over bool, err error) {
	row, err := q.UsageAgainstBudget(ctx, tx, dbsqlc.UsageAgainstBudgetParams{WorkspaceID: workspace, JobID: id})
	if err != nil {
		return 0, false, fmt.Errorf("usage against budget: %w", err)
	}
	return row.Used, row.IsOver, nil
}

// requireBudget refuses to let a job go on that would be paused again at its next
// contact.
func requireBudget(ctx context.Context, tx db.Tx, workspace ids.ID, job jobs.Job) error {
	if job.TokenBudget == nil {
		return nil
	}
	used, over, err := overBudgetTx(ctx, tx, workspace, job.ID)
	if err != nil || !over {
		return err
	}
	return fault.New(fault.InvalidTransition, "%s has used %d of %d tokens. Raise or clear its token_budget first.",
		job.Key, used, *job.TokenBudget).With("status", string(job.Status)).With("used_tokens", used)
}

// budgeted are those of the jobs that have a budget of tokens.
func budgeted(list []jobs.Job) []ids.ID {
	var some []ids.ID
	for _, j := range list {
		if j.TokenBudget != nil {
			some = append(some, j.ID)
		}
	}
	return some
}
