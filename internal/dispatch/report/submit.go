package report

import (
	"context"

	"fleetboard/db"
	"fleetboard/internal/dispatch/lease"
	"fleetboard/internal/fault"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// MaxSubmitted is how many jobs an agent may create while it holds one lease.
const MaxSubmitted = 20

// Submit creates a job for an agent that found it while it worked on another one,
// which it has to hold. Product and repo have to be within its token's scope: the
// repo is the product's, or that of the job it holds.
//
// Faults: Forbidden where its enrolment token does not let it, out of scope, and
// after MaxSubmitted of one attempt; as of jobs.Create and of Progress.
func (s *Service) Submit(ctx context.Context, who tenancy.Principal, from jobs.Origin, holding lease.Ref, in jobs.New) (
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
	return s.jobs.Discover(ctx, who, from, in, func(ctx context.Context, tx db.Tx, wanted jobs.Job, isOwned bool) (jobs.Job, error) {
		if _, err := lease.TouchTx(ctx, tx, who); err != nil {
			return jobs.Job{}, err
		}
		job, err := jobs.LockTx(ctx, tx, who.Workspace, holding.Job)
		if err != nil {
			return jobs.Job{}, err
		}
		if !lease.IsHolder(who, job, holding.Epoch) {
			return jobs.Job{}, lease.Conflict(ctx, tx, who, job.Job, holding.Epoch)
		}
		if !lease.InScope(tenancy.Scope{Products: who.Scope.Products}, wanted) {
			return jobs.Job{}, fault.New(fault.Forbidden, "The token of %s does not reach the product %s.", who.Name, wanted.Product)
		}
		if len(who.Scope.Products) > 0 && !isOwned && wanted.Repo != job.Repo {
			return jobs.Job{}, fault.New(fault.Forbidden, "The repo %s belongs to no product that the token of %s reaches.",
				wanted.Repo, who.Name)
		}
		return job.Job, countSubmittedTx(ctx, tx, who, job.ID, holding.Epoch)
	})
}
