package report

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

// jobsByName finds jobs by the keys or ids that agents call them by.
func jobsByName(ctx context.Context, tx db.Tx, workspace ids.ID, refs []string) (map[string]ids.ID, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	list, _ := ids.ParseAll(refs)
	rows, err := q.JobIDs(ctx, tx, workspace, refs, list)
	if err != nil {
		return nil, err
	}
	byKey, byID := map[string]ids.ID{}, map[ids.ID]bool{}
	for _, row := range rows {
		byKey[row.Key], byID[row.ID] = row.ID, true
	}
	named := map[string]ids.ID{}
	for _, ref := range refs {
		if id, ok := byKey[ref]; ok {
			named[ref] = id
		} else if id, ok := ids.Parse(ref); ok && byID[id] {
			named[ref] = id
		}
	}
	return named, nil
}

// waitForAgent waits for the lock of the caller's agent.
func waitForAgent(ctx context.Context, tx db.Tx, who tenancy.Principal) error {
	return q.AgentWait(ctx, tx, who.Workspace, who.Agent)
}

// waitForLeases waits for the locks of those of the starting jobs that an agent holds
// and has not started, and then for its leases on the named jobs, or for all of them:
// the order in which everybody locks.
func waitForLeases(ctx context.Context, tx db.Tx, who tenancy.Principal, starting, named map[string]ids.ID, every bool) error {
	if len(starting) > 0 {
		err := q.JobsWait(ctx, tx, who.Workspace, listOnce(starting), who.Agent)
		if err != nil {
			return err
		}
	}
	return q.LeasesWait(ctx, tx, who.Workspace, who.Agent, every, listOnce(named))
}

func listOnce(named map[string]ids.ID) []ids.ID {
	list := make([]ids.ID, 0, len(named))
	for _, id := range named {
		list = append(list, id)
	}
	slices.SortFunc(list, func(a, b ids.ID) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(list)
}

// lockJobs locks those of the jobs that nobody else has locked, and returns them.
func lockJobs(ctx context.Context, tx db.Tx, workspace ids.ID, list []ids.ID) ([]ids.ID, error) {
	rows, err := q.JobsLock(ctx, tx, workspace, list, nil)
	if err != nil {
		return nil, err
	}
	locked := make([]ids.ID, 0, len(rows))
	for _, row := range rows {
		locked = append(locked, row.ID)
	}
	return locked, nil
}

// jobsWaitedFor returns those of the jobs for which others wait.
func jobsWaitedFor(ctx context.Context, tx db.Tx, workspace ids.ID, list []ids.ID) ([]ids.ID, error) {
	return q.JobsWaitedFor(ctx, tx, list, workspace)
}

// jobOfLog finds the job that log lines are for. Fault: NotFound.
func jobOfLog(ctx context.Context, tx db.Tx, workspace ids.ID, keyOrID string) (id ids.ID, key string, hasSecrets bool, err error) {
	var named *ids.ID
	if id, ok := ids.Parse(keyOrID); ok {
		named = &id
	}
	state, err := q.LeaseState(ctx, tx, workspace, keyOrID, named)
	if errors.Is(err, pgx.ErrNoRows) {
		return ids.Nil, "", false, lease.NoSuchJob(keyOrID)
	}
	if err != nil {
		return ids.Nil, "", false, err
	}
	return state.ID, state.Key, state.HasSecrets, nil
}

// giveTx notes that a locked job is given back as its agent was asked, and returns the key of the job
// for which; "" where nothing is asked.
func giveTx(ctx context.Context, tx db.Tx, workspace ids.ID, job jobs.Locked) (key string, err error) {
	keys, err := q.PreemptionGive(ctx, tx, workspace, job.ID, job.Epoch)
	if err != nil || len(keys) == 0 {
		return "", err
	}
	return keys[0], nil
}
