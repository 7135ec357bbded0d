package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
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

// Warn warns, in every workspace, the holders of leases whose estimate was
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

// late finds late leases in all workspaces and does something to each workspace's.
func (s *Service) late(ctx context.Context, find lateLeases, do func(context.Context, ids.ID, []ids.ID) (int, error)) (int, error) {
	var found map[ids.ID][]ids.ID
	err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		found, err = find(ctx, tx)
		return err
	})
	if err != nil {
		return 0, err
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
	err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		found, err = find(ctx, tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	return do(ctx, workspace, found[workspace])
}

// warn writes the directive on each lease that is still to be warned.
func (s *Service) warn(ctx context.Context, workspace ids.ID, list []ids.ID) (int, error) {
	who := tenancy.System(workspace, timekeeper)
	n, err := lease.ForEachJob(list, func(id ids.ID) (ok bool, err error) {
		err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			ok, err = warnTx(ctx, tx, who, id)
			return err
		})
		return ok && err == nil, err
	})
	if n > 0 {
		s.effects.Publish(workspace, nil)
	}
	return n, err
}

func warnTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id ids.ID) (bool, error) {
	job, held, err := lockLease(ctx, tx, who.Workspace, id)
	if err != nil || held == nil || !overdue(job.Job, *held) {
		return false, err
	}
	reason := fmt.Sprintf("The estimate of %d minutes is exceeded by %d. Without progress within %d minutes the job goes to somebody else.",
		*job.EstimatedMinutes, int(held.Now.Sub(held.ClaimedAt).Minutes())-*job.EstimatedMinutes, timeOutAfter)
	if warned, err := writeWarning(ctx, tx, who, id, reason); err != nil || !warned {
		return false, err
	}
	return true, lease.AppendEvent(ctx, tx, who, eventlog.Event{Type: eventlog.JobWarned, JobID: &id, Epoch: &held.Epoch,
		Changes: []eventlog.Change{{Field: "directive", Old: held.Directive, New: lease.Warn}}})
}

// overdue reports whether a holder is to be warned: it is not directed to stop, and the
// estimate is exceeded by more than is overlooked.
func overdue(job jobs.Job, l lockedLease) bool {
	return job.EstimatedMinutes != nil && l.WarnedAt == nil &&
		(l.Directive == "" || l.Directive == lease.Warn) && l.ExpiresAt.After(l.Now) &&
		l.Now.Sub(l.ClaimedAt) >= time.Duration(*job.EstimatedMinutes+warnAfter)*time.Minute
}

// timeOut takes back each lease whose time is still out.
func (s *Service) timeOut(ctx context.Context, workspace ids.ID, list []ids.ID) (int, error) {
	var changed []lease.Change
	n, err := lease.ForEachJob(list, func(id ids.ID) (bool, error) {
		taken, err := s.revokeLease(ctx, tenancy.System(workspace, timekeeper), id, ifTimeIsOut)
		if err == nil && taken.Happened() {
			changed = append(changed, taken)
		}
		return taken.Happened(), err
	})
	s.effects.AfterCommit(ctx, workspace, changed...)
	return n, err
}

// ifTimeIsOut takes back a lease that was warned and made no progress since; what
// a person requested goes first.
func ifTimeIsOut(job jobs.Locked, l lockedLease) (jobs.Decision, lease.AttemptEnd, bool, error) {
	if !timeIsOut(l) {
		return jobs.Decision{}, lease.AttemptEnd{}, false, nil
	}
	why := fmt.Sprintf("%s went over the estimate and made no progress in %d minutes after the warning", l.Agent, timeOutAfter)
	if d, e, ok, err := lease.ApplyDirective(job.Job, why); ok {
		return d, e, true, err
	}
	d, err := job.TimeOut(why)
	return d, lease.AttemptEnd{Outcome: lease.TimedOut, Error: why}, true, err
}

func timeIsOut(l lockedLease) bool {
	if l.WarnedAt == nil {
		return false
	}
	last := *l.WarnedAt
	if l.ProgressAt != nil && l.ProgressAt.After(last) {
		last = *l.ProgressAt
	}
	return l.Now.Sub(last) >= timeOutAfter*time.Minute
}
