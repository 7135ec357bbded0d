package report

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// agentProvider is whose models an agent works with: as it says now, or said before, or
// reported of what it used under a lease; "" where nobody knows. It is kept of the agent.
func agentProvider(ctx context.Context, tx db.Tx, who tenancy.Principal, under leaseName, said string) (string, error) {
	provider, err := q.AgentLearnProvider(ctx, tx, dbsqlc.AgentLearnProviderParams{WorkspaceID: who.Workspace, AgentID: who.Agent,
		JobID: under.job, Epoch: under.epoch, Provider: said})
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return provider, nil
}

// hostsAsked bounds how many hosts that gave a job back count for its wait.
const hostsAsked = 10

// handedBack returns how many attempts of a job before this one were given back for what was
// their hosts', one after the other.
func handedBack(ctx context.Context, tx db.Tx, workspace ids.ID, job jobs.Job) (n int, err error) {
	ends, err := q.AttemptEnds(ctx, tx, workspace, job.ID, job.Epoch, hostsAsked)
	if err != nil {
		return 0, err
	}
	for _, e := range ends {
		if e.Outcome != lease.Released || !jobs.FailureKind(e.ErrorKind).IsHosts() {
			break
		}
		n++
	}
	return n, nil
}

// holdProvider keeps the agents of a provider that registered with the same token from new
// jobs for a while, and returns until when.
func holdProvider(ctx context.Context, tx db.Tx, who tenancy.Principal, provider string, wait time.Duration) (time.Time, error) {
	return q.ProviderHold(ctx, tx, provider, wait.Seconds(), who.Workspace, who.Agent)
}
