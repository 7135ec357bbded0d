package recovery

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/graph"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

// lockedLease is a lease that is locked with its job, as it is then.
type lockedLease = dbsqlc.LeaseLockRow

// lockLease locks a job and the lease that it has; nil where there is none.
func lockLease(ctx context.Context, tx db.Tx, workspace, id ids.ID) (jobs.Locked, *lockedLease, error) {
	job, err := jobs.LockTx(ctx, tx, workspace, id.String())
	if err != nil {
		return job, nil, err
	}
	l, err := q.LeaseLock(ctx, tx, workspace, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return job, nil, nil
	}
	if err != nil {
		return job, nil, err
	}
	return job, &l, nil
}

// lapsedLeases returns the jobs whose leases are to be taken back, the oldest first, at
// most limit, and how many there are in all.
func lapsedLeases(ctx context.Context, tx db.Tx, workspace ids.ID, limit int) (list []ids.ID, inAll int, err error) {
	rows, err := q.LeaseLapsed(ctx, tx, workspace, limit)
	if err != nil {
		return nil, 0, err
	}
	for _, l := range rows {
		list, inAll = append(list, l.JobID), max(inAll, l.Lapsed)
	}
	return list, inAll, nil
}

// leasesToWarn returns the jobs, by workspace, whose holders are to be warned.
func leasesToWarn(ctx context.Context, tx db.Tx) (map[ids.ID][]ids.ID, error) {
	rows, err := q.LeaseToWarn(ctx, tx, warnAfter, lease.MaxSwept)
	if err != nil {
		return nil, err
	}
	late := map[ids.ID][]ids.ID{}
	for _, r := range rows {
		late[r.WorkspaceID] = append(late[r.WorkspaceID], r.JobID)
	}
	return late, nil
}

// leasesToTimeOut returns the jobs, by workspace, whose leases are to be taken back for
// want of progress.
func leasesToTimeOut(ctx context.Context, tx db.Tx) (map[ids.ID][]ids.ID, error) {
	rows, err := q.LeaseToTimeOut(ctx, tx, timeOutAfter, lease.MaxSwept)
	if err != nil {
		return nil, err
	}
	late := map[ids.ID][]ids.ID{}
	for _, r := range rows {
		late[r.WorkspaceID] = append(late[r.WorkspaceID], r.JobID)
	}
	return late, nil
}

// writeWarning writes the warning on a job's lease, unless it has another
// directive.
func writeWarning(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, reason string) (bool, error) {
	by := who.Actor()
	n, err := q.LeaseWarn(ctx, tx, dbsqlc.LeaseWarnParams{WorkspaceID: who.Workspace, JobID: job, Reason: reason,
		Actor: by.Name, ActorKind: string(by.Kind), ActorID: by.ID})
	if err != nil {
		return false, err
	}
	return n > 0, nil
}

// dueJobs are waiting jobs whose time has come, by workspace.
func dueJobs(ctx context.Context, tx db.Tx) (map[ids.ID][]ids.ID, error) {
	var timed []string
	for _, reason := range jobs.WaitReasons(jobs.ForTime) {
		timed = append(timed, string(reason))
	}
	rows, err := q.JobDue(ctx, tx, timed, lease.MaxSwept)
	if err != nil {
		return nil, err
	}
	due := map[ids.ID][]ids.ID{}
	for _, r := range rows {
		due[r.WorkspaceID] = append(due[r.WorkspaceID], r.ID)
	}
	return due, nil
}

// heldWorkspaces returns the workspaces with jobs that wait for a repo or a review place.
func heldWorkspaces(ctx context.Context, tx db.Tx) ([]ids.ID, error) {
	return q.JobHeldWorkspaces(ctx, tx)
}

func workspaces(ctx context.Context, tx db.Tx) ([]ids.ID, error) {
	return q.WorkspaceIDs(ctx, tx)
}

// waitingEdges are dependencies between jobs that wait for dependencies.
func waitingEdges(ctx context.Context, tx db.Tx, workspace ids.ID) ([]graph.Edge, error) {
	rows, err := q.CycleEdges(ctx, tx, maxEdges, workspace)
	if err != nil {
		return nil, err
	}
	edges := make([]graph.Edge, 0, len(rows))
	for _, r := range rows {
		edges = append(edges, graph.Edge{From: r.JobID, To: r.DependsOnID})
	}
	return edges, nil
}

// isClosed reports whether each job of a path waits for the next one still.
func isClosed(ctx context.Context, tx db.Tx, workspace ids.ID, path []ids.ID) (bool, error) {
	left, err := q.CycleEdgesLeft(ctx, tx, path[:len(path)-1], path[1:], workspace)
	if err != nil {
		return false, err
	}
	return left == len(path)-1, nil
}

// jobKeys returns the keys of jobs by their ids.
func jobKeys(ctx context.Context, tx db.Tx, workspace ids.ID, list []ids.ID) (map[ids.ID]string, error) {
	rows, err := q.JobIDs(ctx, tx, workspace, []string{}, list)
	if err != nil {
		return nil, err
	}
	keys := make(map[ids.ID]string, len(rows))
	for _, r := range rows {
		keys[r.ID] = r.Key
	}
	return keys, nil
}
