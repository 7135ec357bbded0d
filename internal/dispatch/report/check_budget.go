package report

import (
	"context"
	"fmt"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Steps before which an agent checks whether it may spend.
const (
	AtSpawn      = "spawn"
	AtCheckpoint = "checkpoint"
	AtCommit     = "commit"
)

const (
	// MaxChangedLines is the greatest number of lines that a commit may say to change.
	MaxChangedLines = 100_000_000
	// warnedPercent is how much of its own ceiling a job may have used unwarned.
	warnedPercent = 90
	// tokensPerLine is what a changed line may take before somebody should look: twice the
	// 150 that a line with its tests usually takes. Reading from a cache is not counted.
	tokensPerLine = 300
	// tokensOfAny is what any change may take: finding the place is most of a small one.
	tokensOfAny = 200_000
)

// BudgetCheck is what an agent is about to do.
type BudgetCheck struct {
	At           string       // spawn, checkpoint or commit
	Estimate     *spend.Nanos // what the step is expected to cost, where that is known
	ChangedLines *int         // of the whole job so far, where it commits
}

// BudgetAnswer is whether it may.
type BudgetAnswer struct {
	Directive, Reason string
	Remaining         *spend.Nanos // what the lease may still spend; nil without a limit of money
	Budget            string       // that sets the limit: its name, or the job's key where it is the job's own
}

// CheckBudget says before something costly whether a budget of the job has enough left for it:
// the directive is pause where none is left, and before a spawn also where what it is
// expected to cost is more than is left; warn where it is little, and where a commit took
// many tokens for its lines; and otherwise the directive of the lease. It counts as a sign of
// life and keeps the lease, as Renew does. Faults: Validation, and those of Renew.
func (s *Service) CheckBudget(ctx context.Context, who tenancy.Principal, ref lease.Ref, in BudgetCheck) (BudgetAnswer, error) {
	if err := in.check(); err != nil {
		return BudgetAnswer{}, err
	}
	standing, err := s.report(ctx, who, ref, report{})
	if err != nil {
		return BudgetAnswer{}, err
	}
	c := budgetChecked{BudgetCheck: in, standing: standing}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error { return c.readTx(ctx, tx, who, ref) }, db.Snapshot)
	if err != nil {
		return BudgetAnswer{}, err
	}
	return c.answer(), nil
}

func (in BudgetCheck) check() error {
	p := fault.Problems{}
	if !slices.Contains([]string{AtSpawn, AtCheckpoint, AtCommit}, in.At) {
		p.Add("at", "It must be spawn, checkpoint or commit.")
	}
	if in.ChangedLines != nil && (*in.ChangedLines < 0 || *in.ChangedLines > MaxChangedLines) {
		p.Add("changed_lines", "It must be 0 to %d.", MaxChangedLines)
	}
	return p.Err()
}

// budgetChecked is a check with what is known of the job.
type budgetChecked struct {
	BudgetCheck
	standing lease.Status
	room     budgeting.Room
	own      lease.OwnUse
	used     spend.Usage // under the lease
}

func (c *budgetChecked) readTx(ctx context.Context, tx db.Tx, who tenancy.Principal, ref lease.Ref) error {
	named, err := jobsByName(ctx, tx, who.Workspace, []string{ref.Job})
	if err != nil {
		return err
	}
	of := spend.Lease{Job: named[ref.Job], Epoch: ref.Epoch}
	if c.room, err = budgeting.RoomTx(ctx, tx, who.Workspace, of); err != nil {
		return err
	}
	if c.own, err = lease.OwnUseTx(ctx, tx, who.Workspace, of.Job); err != nil {
		return err
	}
	used, err := spend.OfLeasesTx(ctx, tx, who.Workspace, []spend.Lease{of})
	c.used = used[of]
	return err
}

// answer says whether the job may go on, by the tightest of its limits.
func (c *budgetChecked) answer() BudgetAnswer {
	a := BudgetAnswer{Directive: c.standing.Directive, Reason: c.standing.Reason}
	stops := c.room.Hard
	if c.room.Budget != "" {
		a.Budget, a.Remaining = c.room.Budget, &c.room.Left
	}
	if c.own.Budget != nil {
		if left := *c.own.Budget - c.own.Cost; a.Remaining == nil || !stops || left < *a.Remaining {
			a.Budget, a.Remaining, stops = c.own.Key, &left, true
		}
	}
	if a.Directive != lease.Continue && a.Directive != lease.Warn {
		return a
	}
	if directive, reason := c.verdict(a, stops); directive != "" {
		a.Directive, a.Reason = directive, reason
	}
	return a
}

// verdict returns what follows from the budgets; "" where nothing does. stops says whether the
// tightest limit is one that keeps jobs from going on.
func (c *budgetChecked) verdict(a BudgetAnswer, stops bool) (directive, reason string) {
	short := stops && a.Remaining != nil && c.Estimate != nil && *c.Estimate > *a.Remaining
	switch {
	case c.room.UsedUp != "":
		return lease.Pause, c.room.UsedUp
	case c.own.Budget != nil && c.own.Cost >= *c.own.Budget:
		return lease.Pause, "The job has used up its budget_usd. Somebody raises it, then it goes on."
	case c.own.TokenBudget != nil && c.own.Tokens >= *c.own.TokenBudget:
		return lease.Pause, "The job has used up its token_budget. Somebody raises it, then it goes on."
	case short:
		reason = fmt.Sprintf("%s has %s left for this job, and the step is expected to cost %s.",
			a.Budget, max(*a.Remaining, 0).Floor(), *c.Estimate)
		if c.At == AtSpawn {
			return lease.Pause, reason
		}
		return lease.Warn, reason
	case a.Directive == lease.Warn:
		return "", ""
	case c.own.Budget != nil && isPast(int64(c.own.Cost), int64(*c.own.Budget)),
		c.own.TokenBudget != nil && isPast(c.own.Tokens, *c.own.TokenBudget):
		return lease.Warn, fmt.Sprintf("The job has used more than %d %% of its own budget.", warnedPercent)
	}
	return c.efficiency()
}

// isPast reports whether more than the unwarned share of a limit is used.
func isPast(used, limit int64) bool {
	return used > limit/100*warnedPercent+limit%100*warnedPercent/100
}

// efficiency warns of a commit that took many tokens for its lines.
func (c *budgetChecked) efficiency() (directive, reason string) {
	if c.At != AtCommit || c.ChangedLines == nil {
		return "", ""
	}
	tokens := c.used.Tokens() - c.used.CacheRead
	if tokens <= max(tokensOfAny, tokensPerLine*int64(*c.ChangedLines)) {
		return "", ""
	}
	return lease.Warn, fmt.Sprintf("The attempt has used %d tokens for %d changed lines: look at its log before it goes on.",
		tokens, *c.ChangedLines)
}
