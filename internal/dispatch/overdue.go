package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// The patience with a job past its estimate, in minutes (docs/concepts.md).
const (
	// warnAfter is how far beyond its estimate a job may be worked on unasked.
	warnAfter = 30
	// timeOutAfter is how long a warned holder may go on without progress.
	timeOutAfter = 10
)

// timekeeper is the loop that events name as what warned or timed out.
const timekeeper = "time-out"

// Warn tells, in every workspace, the holders of leases whose estimate was
// exceeded by 30 minutes. It returns how many.
func (s *Service) Warn(ctx context.Context) (int, error) {
	return s.late(ctx, leasesToWarn, s.warn)
}

// TimeOut takes back, in every workspace, the leases that were warned and made
// no progress in 10 more minutes. It returns how many.
func (s *Service) TimeOut(ctx context.Context) (int, error) {
	return s.late(ctx, leasesToTimeOut, s.timeOut)
}

// lateLeases finds leases among those that a transaction may see.
type lateLeases func(context.Context, db.Tx) (map[ids.ID][]ids.ID, error)

func leasesToWarn(ctx context.Context, tx db.Tx) (map[ids.ID][]ids.ID, error) {
	rows, err := q.LeaseToWarn(ctx, tx, dbsqlc.LeaseToWarnParams{PatienceMinutes: warnAfter, MaxRows: sweepSize})
	late := map[ids.ID][]ids.ID{}
	for _, r := range rows {
		late[r.WorkspaceID] = append(late[r.WorkspaceID], r.JobID)
	}
	return late, err
}

func leasesToTimeOut(ctx context.Context, tx db.Tx) (map[ids.ID][]ids.ID, error) {
	rows, err := q.LeaseToTimeOut(ctx, tx, dbsqlc.LeaseToTimeOutParams{PatienceMinutes: timeOutAfter, MaxRows: sweepSize})
	late := map[ids.ID][]ids.ID{}
	for _, r := range rows {
		late[r.WorkspaceID] = append(late[r.WorkspaceID], r.JobID)
	}
	return late, err
}

// late finds late leases in all workspaces and does something to each workspace's.
func (s *Service) late(ctx context.Context, find lateLeases, do func(context.Context, ids.ID, []ids.ID) (int, error)) (int, error) {
	var found map[ids.ID][]ids.ID
	err := s.db.InSystem(ctx, func(tx db.Tx) (err error) {
		found, err = find(ctx, tx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("late leases: %w", err)
	}
	total := 0
	var failed error
	for workspace, list := range found {
		n, err := do(ctx, workspace, list)
		total, failed = total+n, errors.Join(failed, err)
	}
	return total, failed
}

// lateIn is late in one workspace.
func (s *Service) lateIn(ctx context.Context, workspace ids.ID, find lateLeases,
	do func(context.Context, ids.ID, []ids.ID) (int, error),
) (int, error) {
	var found map[ids.ID][]ids.ID
	err := s.db.InWorkspace(ctx, workspace, func(tx db.Tx) (err error) {
		found, err = find(ctx, tx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("late leases: %w", err)
	}
	return do(ctx, workspace, found[workspace])
}

// warn writes the directive on each lease that is still to be warned.
func (s *Service) warn(ctx context.Context, workspace ids.ID, list []ids.ID) (int, error) {
	who := tenancy.System(workspace, timekeeper)
	n, err := forEachJob(list, func(id ids.ID) (ok bool, err error) {
		err = s.db.InWorkspace(ctx, workspace, func(tx db.Tx) error {
			ok, err = warnTx(ctx, tx, who, id)
			return err
		})
		return ok && err == nil, err
	})
	if n > 0 {
		s.publish(workspace, nil)
	}
	return n, err
}

func warnTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id ids.ID) (bool, error) {
	job, lease, err := lockLease(ctx, tx, who.Workspace, id)
	if err != nil || lease == nil || !overdue(job.Job, *lease) {
		return false, err
	}
	reason := fmt.Sprintf("The estimate of %d minutes is exceeded by %d. Without progress within %d minutes the job goes to somebody else.",
		*job.EstimatedMinutes, int(lease.Now.Sub(lease.ClaimedAt).Minutes())-*job.EstimatedMinutes, timeOutAfter)
	by := who.Actor()
	n, err := q.LeaseWarn(ctx, tx, dbsqlc.LeaseWarnParams{WorkspaceID: who.Workspace, JobID: id, Reason: reason,
		Actor: by.Name, ActorKind: string(by.Kind), ActorID: by.ID})
	if err != nil {
		return false, fmt.Errorf("warn: %w", err)
	}
	if n == 0 {
		return false, nil
	}
	return true, appendEvent(ctx, tx, who, eventlog.Event{Type: eventlog.JobWarned, JobID: &id, Epoch: &lease.Epoch,
		Changes: []eventlog.Change{{Field: "directive", Old: lease.Directive, New: Warn}}})
}

// overdue reports whether a holder is to be warned: nothing else is asked of it,
// and the estimate is exceeded by more than is overlooked.
func overdue(job jobs.Job, l dbsqlc.LeaseLockRow) bool {
	return job.EstimatedMinutes != nil && l.WarnedAt == nil && l.Directive == "" && l.ExpiresAt.After(l.Now) &&
		l.Now.Sub(l.ClaimedAt) >= time.Duration(*job.EstimatedMinutes+warnAfter)*time.Minute
}

// timeOut takes back each lease whose time is still out.
func (s *Service) timeOut(ctx context.Context, workspace ids.ID, list []ids.ID) (int, error) {
	var changed []change
	n, err := forEachJob(list, func(id ids.ID) (bool, error) {
		taken, err := s.revokeLease(ctx, tenancy.System(workspace, timekeeper), id, ifTimeIsOut)
		if err == nil && taken.happened() {
			changed = append(changed, taken)
		}
		return taken.happened(), err
	})
	s.afterCommit(ctx, workspace, changed...)
	return n, err
}

// ifTimeIsOut takes back a lease that was warned and made no progress since; what
// a person asked for goes first.
func ifTimeIsOut(job jobs.Locked, l dbsqlc.LeaseLockRow) (jobs.Decision, ending, bool, error) {
	if !timeIsOut(l) {
		return jobs.Decision{}, ending{}, false, nil
	}
	why := fmt.Sprintf("%s went over the estimate and made no progress in %d minutes after the warning", l.Agent, timeOutAfter)
	if d, outcome, ok, err := applyDirective(job.Job); ok {
		return d, ending{outcome: outcome, error: why}, true, err
	}
	d, err := job.TimeOut(job.Now, why)
	return d, ending{outcome: outcomeTimeout, error: why}, true, err
}

func timeIsOut(l dbsqlc.LeaseLockRow) bool {
	if l.WarnedAt == nil {
		return false
	}
	last := *l.WarnedAt
	if l.ProgressAt != nil && l.ProgressAt.After(last) {
		last = *l.ProgressAt
	}
	return l.Now.Sub(last) >= timeOutAfter*time.Minute
}
