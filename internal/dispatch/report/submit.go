package report

import (
	"context"
	"strconv"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Submit creates a job for an agent that found it while it worked on another one,
// which it has to hold. Product and repo have to be within its token's scope: the
// repo is the product's, or that of the job it holds. It is as urgent as that one at
// most, and may spend at most what is left of that one's own ceilings.
//
// The secrets of the jobs that it holds are taken out of what it says.
//
// Faults: Forbidden where its enrolment token does not let it, out of scope, and
// after jobs.MaxFiledPerAttempt of one attempt; TooMany where enough jobs of its root
// are open, or came within an hour; as of jobs.Create and of Progress.
func (s *Service) Submit(ctx context.Context, who tenancy.Principal, from *idempotency.Key, holding lease.Ref, in jobs.New) (
	jobs.Created, error,
) {
	if err := lease.RequireAgent(who); err != nil {
		return jobs.Created{}, err
	}
	if !who.Can(tenancy.CreateJobs) {
		return jobs.Created{}, fault.New(fault.Forbidden, "The enrolment token of %s does not let its agents create jobs.", who.Name)
	}
	if err := holding.Check(); err != nil {
		return jobs.Created{}, err
	}
	in, err := s.redactNew(ctx, who, from, in)
	if err != nil {
		return jobs.Created{}, err
	}
	return s.jobs.Discover(ctx, who, from, in, func(ctx context.Context, tx db.Tx, wanted jobs.Job, isOwned bool) (jobs.Filed, error) {
		f := &filing{ctx: ctx, tx: tx, who: who, holding: holding, in: in}
		return f.allow(wanted, isOwned)
	})
}

// filing is a job that an agent wants to create inside its transaction.
type filing struct {
	ctx     context.Context // lives as long as the call
	tx      db.Tx
	who     tenancy.Principal
	holding lease.Ref
	in      jobs.New
}

func (f *filing) allow(wanted jobs.Job, isOwned bool) (jobs.Filed, error) {
	lineage, err := jobs.LineageTx(f.ctx, f.tx, f.who.Workspace, f.holding.Job)
	if err != nil {
		return jobs.Filed{}, err
	}
	by, err := f.held()
	if err != nil {
		return jobs.Filed{}, err
	}
	if err := f.inScope(wanted, by, isOwned); err != nil {
		return jobs.Filed{}, err
	}
	p := fault.Problems{}
	lineage.CheckDepth(p, "discovered_from")
	if wanted, err = f.within(p, wanted, by); err != nil {
		return jobs.Filed{}, err
	}
	if err := p.Err(); err != nil {
		return jobs.Filed{}, err
	}
	if err := countSubmittedTx(f.ctx, f.tx, f.who, by.ID, f.holding.Epoch); err != nil {
		return jobs.Filed{}, err
	}
	return jobs.Filed{Job: wanted, By: by, Lineage: lineage}, lineage.RequireRoomTx(f.ctx, f.tx, f.who.Workspace)
}

// held locks the job that the agent works on.
func (f *filing) held() (jobs.Job, error) {
	if _, err := lease.TouchTx(f.ctx, f.tx, f.who); err != nil {
		return jobs.Job{}, err
	}
	job, err := jobs.LockTx(f.ctx, f.tx, f.who.Workspace, f.holding.Job)
	if err == nil && !lease.IsHolder(f.who, job, f.holding.Epoch) {
		err = lease.Conflict(f.ctx, f.tx, f.who, job.Job, f.holding.Epoch)
	}
	return job.Job, err
}

func (f *filing) inScope(wanted, by jobs.Job, isOwned bool) error {
	if !lease.InScope(tenancy.Scope{Products: f.who.Scope.Products}, wanted) {
		return fault.New(fault.Forbidden, "The token of %s does not reach the product %s.", f.who.Name, wanted.Product)
	}
	if len(f.who.Scope.Products) > 0 && !isOwned && wanted.Repo != by.Repo {
		return fault.New(fault.Forbidden, "The repo %s belongs to no product that the token of %s reaches.", wanted.Repo, f.who.Name)
	}
	return nil
}

// within returns the wanted job within what the job at work has: its urgency, and what is left of
// its own ceilings. What the agent leaves out is set so; what it names beyond goes into p.
func (f *filing) within(p fault.Problems, wanted, by jobs.Job) (jobs.Job, error) {
	if f.in.Factory != "" {
		p.Add("factory", "It must be left out by agents.")
	}
	switch {
	case f.in.Priority == nil:
		wanted.Priority = min(wanted.Priority, by.Priority)
	case *f.in.Priority > by.Priority:
		p.Add("priority", "It must be at most %d, the priority of %s.", by.Priority, by.Key)
	}
	if by.BudgetNanos == nil && by.TokenBudget == nil {
		return wanted, nil
	}
	use, err := lease.OwnUseTx(f.ctx, f.tx, f.who.Workspace, by.ID)
	if err != nil {
		return wanted, err
	}
	if use.Budget != nil {
		left := max(*use.Budget-use.Cost, 0)
		wanted.BudgetNanos = ceiling(p, "budget_usd", wanted.BudgetNanos, int64(left), left.Floor().String(), by.Key)
	}
	if use.TokenBudget != nil {
		left := max(*use.TokenBudget-use.Tokens, 0)
		wanted.TokenBudget = ceiling(p, "token_budget", wanted.TokenBudget, left, strconv.FormatInt(left, 10)+" tokens", by.Key)
	}
	return wanted, nil
}

// ceiling returns what a job may spend where so much is left of the one that it was found by.
func ceiling(p fault.Problems, field string, wanted *int64, left int64, said, of string) *int64 {
	switch {
	case left == 0:
		p.Add(field, "%s has nothing left of its own.", of)
	case wanted == nil:
		return &left
	case *wanted > left:
		p.Add(field, "It must be at most %s, which %s has left.", said, of)
	}
	return wanted
}
