package lease

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// budgetKeeper is what events name as who pauses a job that has used its budget, and
// as the reason.
const budgetKeeper = budgeting.Actor

// KeepBudgets directs the holders of those jobs to pause that have used more than their own
// ceilings, token_budget and budget_usd. An error there is not the caller's: the next contact
// tries again.
func (e *Effects) KeepBudgets(ctx context.Context, workspace ids.ID, list []ids.ID) {
	if len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), AfterCommitTimeout)
	defer cancel()
	var over []ids.ID
	err := e.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		over, err = q.JobsToPauseForBudget(ctx, tx, workspace, list)
		return err
	})
	if err != nil {
		e.Warn(ctx, "compare usage with budgets", err)
		return
	}
	n, err := ForEachJob(over, func(id ids.ID) (asked bool, err error) {
		err = e.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			asked, err = keepBudgetTx(ctx, tx, tenancy.System(workspace, budgetKeeper), id)
			return err
		})
		return asked && err == nil, err
	})
	if n > 0 {
		e.Publish(workspace, nil)
	}
	if err != nil {
		e.Warn(ctx, "a job has used its budget", err)
	}
}

// DirectForBudgets directs the holders of jobs to pause that a budget has nothing left for,
// and warns those that it has little left for. An error there is not the caller's: their next
// report is charged again.
func (e *Effects) DirectForBudgets(ctx context.Context, workspace ids.ID, charged budgeting.Charged) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), AfterCommitTimeout)
	defer cancel()
	for job, reason := range charged.Pause {
		if err := e.pauseForBudget(ctx, workspace, job, reason); err != nil {
			e.log.WarnContext(ctx, "a budget is used up", "job", job, "err", err)
		}
	}
	if len(charged.Warn)+len(charged.Eased) == 0 {
		return
	}
	err := e.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error { return warnForBudgetsTx(ctx, tx, workspace, charged) })
	if err != nil {
		e.Warn(ctx, "a budget is nearly used up", err)
		return
	}
	e.Publish(workspace, nil)
}

// warnForBudgetsTx writes the warnings of budgets, and takes back those that are over.
func warnForBudgetsTx(ctx context.Context, tx db.Tx, workspace ids.ID, charged budgeting.Charged) error {
	if err := unwarnForBudgets(ctx, tx, workspace, charged.Eased); err != nil {
		return err
	}
	who := tenancy.System(workspace, budgetKeeper)
	leases := slices.SortedFunc(maps.Keys(charged.Warn), func(a, b spend.Lease) int { return slices.Compare(a.Job[:], b.Job[:]) })
	for _, of := range leases {
		if warned, err := warnForBudget(ctx, tx, workspace, of, charged.Warn[of]); err != nil {
			return err
		} else if !warned {
			continue
		}
		payload, err := json.Marshal(map[string]any{"reason": budgetKeeper, "text": charged.Warn[of]})
		if err != nil {
			return fmt.Errorf("encode payload: %w", err)
		}
		err = AppendEvent(ctx, tx, who, eventlog.Event{Type: eventlog.JobWarned, JobID: &of.Job, Epoch: &of.Epoch, Payload: payload,
			Changes: []eventlog.Change{{Field: "directive", Old: "", New: Warn}}})
		if err != nil {
			return err
		}
	}
	return nil
}

// pauseForBudget directs the holder of one job to pause.
func (e *Effects) pauseForBudget(ctx context.Context, workspace, id ids.ID, reason string) error {
	payload, err := json.Marshal(map[string]any{"reason": budgetKeeper, "text": reason})
	if err != nil {
		return fmt.Errorf("encode payload: %w", err)
	}
	var asked []jobs.Job
	err = e.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		job, err := jobs.LockTx(ctx, tx, workspace, id.String())
		if err != nil || job.Lease == nil || job.Lease.IsDirectedToStop() {
			return err
		}
		after, err := DirectTx(ctx, tx, tenancy.System(workspace, budgetKeeper), job, Pause, reason, payload)
		asked = []jobs.Job{after}
		return err
	})
	if err == nil && len(asked) > 0 {
		e.Publish(workspace, nil, asked...)
	}
	return err
}

// BudgetsFreed lets the jobs go on that the budgets of a workspace have enough left for now: those
// that wait for one, the most urgent first, and those that one has paused.
func (e *Effects) BudgetsFreed(ctx context.Context, workspace ids.ID, _ []ids.ID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), AfterCommitTimeout)
	defer cancel()
	if _, err := e.WakeForBudgets(ctx, workspace); err != nil {
		e.Warn(ctx, "a budget has room", err)
	}
}

// WakeForBudgets lets the jobs of a workspace go on that its budgets have enough left for, and
// returns how many.
func (e *Effects) WakeForBudgets(ctx context.Context, workspace ids.ID) (int, error) {
	var woken budgeting.Woken
	var eased budgeting.Charged
	err := e.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		if eased, err = budgeting.TopUpTx(ctx, tx, workspace); err != nil {
			return err
		}
		woken, err = budgeting.WokenTx(ctx, tx, workspace)
		return err
	})
	if err != nil {
		return 0, err
	}
	e.DirectForBudgets(ctx, workspace, eased)
	n, err := e.PromoteAll(ctx, workspace, woken.Held)
	if err != nil {
		return n, err
	}
	resumed, err := e.ResumePausedBy(ctx, workspace, budgetKeeper, woken.Paused)
	return n + resumed, err
}

// ResumePausedBy lets the jobs go on that one loop has paused, each in a transaction of its
// own, and returns how many. Those that have used more than their own ceilings stay.
func (e *Effects) ResumePausedBy(ctx context.Context, workspace ids.ID, loop string, list []ids.ID) (int, error) {
	return ForEachJob(list, func(id ids.ID) (bool, error) { return e.resumePausedBy(ctx, workspace, loop, id) })
}

func (e *Effects) resumePausedBy(ctx context.Context, workspace ids.ID, loop string, id ids.ID) (resumed bool, err error) {
	var after jobs.Job
	who := tenancy.System(workspace, loop)
	err = e.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		job, err := jobs.LockTx(ctx, tx, workspace, id.String())
		if err != nil || job.Status != jobs.Paused || !job.StatusBy.Is(who.Actor()) {
			return err
		}
		if RequireBudgetTx(ctx, tx, workspace, job.Job) != nil {
			return nil //nolint:nilerr // it goes on once those are raised
		}
		open, err := jobs.DependencyOpenTx(ctx, tx, workspace, id)
		if err != nil {
			return err
		}
		d, err := job.Resume(open)
		if err != nil {
			return err
		}
		after, err = jobs.SaveTx(ctx, tx, who, d)
		resumed = err == nil
		return err
	})
	if resumed && err == nil {
		e.wake.Publish(jobs.Topics(workspace, after)...)
	}
	return resumed && err == nil, err
}

// keepBudgetTx directs the holder of one job to pause, where it has used up its own ceiling
// and is not directed to stop already.
func keepBudgetTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id ids.ID) (bool, error) {
	used, err := OwnUseTx(ctx, tx, who.Workspace, id)
	if err != nil || !used.overTokens && !used.overMoney {
		return false, err
	}
	job, err := jobs.LockTx(ctx, tx, who.Workspace, id.String())
	if err != nil || job.Lease == nil || job.Lease.IsDirectedToStop() {
		return false, err
	}
	told := map[string]any{"reason": budgetKeeper, "used_tokens": used.Tokens, "token_budget": job.TokenBudget}
	reason := "The job has used more tokens than its token_budget. Somebody raises it, then it goes on."
	if used.overMoney {
		told = map[string]any{"reason": budgetKeeper, "cost_usd": used.Cost.Fixed(), "budget_usd": spend.Nanos(*job.BudgetNanos).Fixed()}
		reason = "The job has cost more than its budget_usd. Somebody raises it, then it goes on."
	}
	payload, err := json.Marshal(told)
	if err != nil {
		return false, fmt.Errorf("encode payload: %w", err)
	}
	_, err = DirectTx(ctx, tx, who, job, Pause, reason, payload)
	return true, err
}

// RequireBudgetTx refuses to let a job go on that would be paused again at its next
// contact.
func RequireBudgetTx(ctx context.Context, tx db.Tx, workspace ids.ID, job jobs.Job) error {
	if job.TokenBudget == nil && job.BudgetNanos == nil {
		return nil
	}
	used, err := OwnUseTx(ctx, tx, workspace, job.ID)
	switch {
	case err != nil:
		return err
	case used.overTokens:
		return fault.New(fault.InvalidTransition, "%s has used %d of %d tokens. Raise or clear its token_budget first.",
			job.Key, used.Tokens, *job.TokenBudget).With("status", string(job.Status)).With("used_tokens", used.Tokens)
	case used.overMoney:
		return fault.New(fault.InvalidTransition, "%s has cost %s of %s. Raise or clear its budget_usd first.",
			job.Key, used.Cost, spend.Nanos(*job.BudgetNanos)).With("status", string(job.Status))
	}
	return nil
}
