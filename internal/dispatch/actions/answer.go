package actions

import (
	"context"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/secrets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// needed returns the permission that an action needs.
func needed(verb jobs.Trigger) tenancy.Permission {
	if verb == jobs.ByAnswer {
		return tenancy.AnswerQuestions
	}
	return tenancy.WriteJobs
}

// speakAsAgent refuses a boot that was replaced, and takes the secrets of the agent's jobs
// out of what it says.
func (s *Service) speakAsAgent(ctx context.Context, tx db.Tx, who tenancy.Principal, a *Action) error {
	if _, err := lease.TouchTx(ctx, tx, who); err != nil {
		return err
	}
	held, err := s.jobs.Secrets.HeldTx(ctx, tx, who.Workspace, secrets.Holders{Agents: []ids.ID{who.Agent}})
	if err != nil {
		return err
	}
	a.Reason = held.Redactor(who.Agent).Cut(a.Reason, lease.MaxQuestion)
	return nil
}

// lockFor locks a job, if who may act on it at all.
func lockFor(ctx context.Context, tx db.Tx, who tenancy.Principal, keyOrID string) (jobs.Locked, error) {
	locked, err := jobs.LockTx(ctx, tx, who.Workspace, keyOrID)
	if err == nil && who.Kind == tenancy.KindAgent {
		err = requireOrigin(ctx, tx, who, locked.Job)
	}
	return locked, err
}

// requireOrigin refuses an agent that does not hold the job in which this one was found, or
// whose token does not reach this one.
func requireOrigin(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Job) error {
	held, err := q.LeaseOfOrigin(ctx, tx, who.Workspace, job.ID, who.Agent)
	if err != nil {
		return err
	}
	if scope := who.Scope.Products; !held || len(scope) > 0 && !slices.Contains(scope, job.Product) {
		return fault.New(fault.Forbidden, "An agent answers %s only while it holds the job from which that one was discovered.", job.Key)
	}
	return nil
}
