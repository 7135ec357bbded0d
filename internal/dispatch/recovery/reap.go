package recovery

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// maxBatches is how many looks one sweep for lapsed leases takes.
	maxBatches = 50
	// reapedInPassing is how many lapsed leases a claim takes back itself.
	reapedInPassing = 5
	// atOnce is how many lost jobs of a workspace one sweep gives back without a
	// wait; maxSpread is the longest wait of the others.
	atOnce    = 20
	maxSpread = time.Minute
)

// Reap takes back, in every workspace, the leases that expired, whose agent is
// dead, or whose directive's grace is over. It returns how many. Several
// processes may reap at once: each lease is ended by one of them.
func (s *Service) Reap(ctx context.Context) (int, error) {
	workspaces, err := s.lapsed(ctx)
	if err != nil {
		return 0, err
	}
	total := 0
	var failed error
	for _, workspace := range workspaces {
		n, err := s.reapAll(ctx, workspace)
		total, failed = total+n, errors.Join(failed, err)
	}
	return total, failed
}

// lapsed returns the workspaces that have leases to take back.
func (s *Service) lapsed(ctx context.Context) (workspaces []ids.ID, err error) {
	err = s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		workspaces, err = q.LeaseLapsedWorkspaces(ctx, tx)
		return err
	})
	return workspaces, err
}

// ReapInPassing takes back a few lapsed leases of a workspace before a claim looks, so
// that work comes back also where no reaper runs.
func (s *Service) ReapInPassing(ctx context.Context, workspace ids.ID) {
	lapsed, err := s.expired.in(ctx, workspace)
	if lapsed {
		_, err = s.reapWorkspace(ctx, workspace, reapedInPassing)
	}
	if err != nil {
		s.log.WarnContext(ctx, "reap in a claim", "err", err)
	}
}

// reapAll takes back the lapsed leases of one workspace batch by batch, so that
// also the last of many is back within one sweep.
func (s *Service) reapAll(ctx context.Context, workspace ids.ID) (total int, err error) {
	var r returns
	for range maxBatches {
		n, err := s.reapBatch(ctx, workspace, lease.MaxSwept, &r)
		if total += n; err != nil || n < lease.MaxSwept {
			return total, err
		}
	}
	return total, nil
}

// Reclaim takes back lapsed leases of one workspace now, or, where a job is
// named, that job's lease whether it has lapsed or not.
func (s *Service) Reclaim(ctx context.Context, who tenancy.Principal, keyOrID string) (int, error) {
	if !who.Can(tenancy.RunFleet) {
		return 0, fault.New(fault.Forbidden, "Only owners and admins take leases back.")
	}
	if keyOrID == "" {
		return s.reapWorkspace(ctx, who.Workspace, lease.MaxSwept)
	}
	job, err := s.jobs.Get(ctx, who, keyOrID)
	if err != nil {
		return 0, err
	}
	why := "taken back by " + who.Name
	taken, err := s.revokeLease(ctx, who, job.ID, func(job jobs.Locked, l lockedLease) (jobs.Decision, lease.AttemptEnd, bool, error) {
		d, e, err := reclaimed(job, l, why)
		return d, e, true, err
	})
	if !taken.Happened() || err != nil {
		return 0, err
	}
	s.effects.AfterCommit(ctx, who.Workspace, taken)
	return 1, nil
}

// reclaimed returns the decision about a lease that a person takes back: a loss only
// where it has lapsed.
func reclaimed(job jobs.Locked, l lockedLease, why string) (jobs.Decision, lease.AttemptEnd, error) {
	if _, lapsed := lapse(l); lapsed {
		return lost(job, why, 0)
	}
	return lease.Requeue(job, why)
}

// reapWorkspace takes back the lapsed leases of one workspace, the oldest first,
// at most limit.
func (s *Service) reapWorkspace(ctx context.Context, workspace ids.ID, limit int) (int, error) {
	return s.reapBatch(ctx, workspace, limit, &returns{})
}

// returns is how the jobs of one sweep come back: the first few at once, the
// others over a time that the number of all of them decides.
type returns struct {
	spread time.Duration
	given  int
}

// wait is that of the next job.
func (r *returns) wait() time.Duration {
	if r.given++; r.given <= atOnce || r.spread == 0 {
		return 0
	}
	return rand.N(r.spread)
}

// reapBatch takes back one batch. A lease that cannot be had now does not keep
// the others. Whoever is woken by the batch is woken once, at its end.
func (s *Service) reapBatch(ctx context.Context, workspace ids.ID, limit int, r *returns) (int, error) {
	var list []ids.ID
	err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		lapsed, inAll, err := lapsedLeases(ctx, tx, workspace, limit)
		list, r.spread = lapsed, max(r.spread, spreadFor(inAll))
		return err
	})
	if err != nil {
		return 0, err
	}
	var changed []lease.Change
	n, err := lease.ForEachJob(list, func(id ids.ID) (bool, error) {
		taken, err := s.revokeLease(ctx, tenancy.System(workspace, "reaper"), id, ifLapsed(r.wait()))
		if err == nil && taken.Happened() {
			changed = append(changed, taken)
		}
		return taken.Happened(), err
	})
	s.effects.AfterCommit(ctx, workspace, changed...)
	return n, err
}

// spreadFor returns the time over which the jobs of n lapsed leases come back, beyond
// the first few: twenty a second, a minute at most.
func spreadFor(n int) time.Duration {
	return min(time.Duration(n)*time.Second/atOnce, maxSpread)
}

// verdict decides about a lease that is locked with its job; ok is false where it
// is left alone.
type verdict func(jobs.Locked, lockedLease) (d jobs.Decision, e lease.AttemptEnd, ok bool, err error)

// ifLapsed takes back a lease that has lapsed: one that was renewed or ended
// meanwhile is left alone.
func ifLapsed(wait time.Duration) verdict {
	return func(job jobs.Locked, l lockedLease) (jobs.Decision, lease.AttemptEnd, bool, error) {
		why, lapsed := lapse(l)
		if !lapsed {
			return jobs.Decision{}, lease.AttemptEnd{}, false, nil
		}
		d, e, err := lost(job, why, wait)
		return d, e, true, err
	}
}

// revokeLease ends one lease in a transaction of its own, if the verdict says so.
// The zero change: it was left alone.
func (s *Service) revokeLease(ctx context.Context, who tenancy.Principal, id ids.ID, judge verdict) (taken lease.Change, err error) {
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		locked, held, err := lockLease(ctx, tx, who.Workspace, id)
		if err != nil || held == nil {
			return err
		}
		d, e, ok, err := judge(locked, *held)
		if err != nil || !ok {
			return err
		}
		job, err := lease.EndTx(ctx, tx, who, d, e)
		taken = lease.Change{Before: locked.Job, After: job}
		return err
	})
	if err != nil {
		return lease.Change{}, err
	}
	return taken, nil
}

// lapse says why a lease is to be taken back, if it is.
func lapse(l lockedLease) (why string, ok bool) {
	switch {
	case l.GraceOver:
		return "asked to " + l.Directive + " and did not answer", true
	case l.Expired:
		return "the lease of " + l.Agent + " ended without a word", true
	case l.AgentDead:
		return l.Agent + " sends no heartbeat any more", true
	}
	return "", false
}

// lost returns the decision about a job whose lease is taken back: what a person
// requested goes before the loss.
func lost(job jobs.Locked, why string, wait time.Duration) (jobs.Decision, lease.AttemptEnd, error) {
	if d, e, ok, err := lease.ApplyDirective(job.Job, why); ok {
		return d, e, err
	}
	d, err := job.Lose(why, wait)
	return d, lease.AttemptEnd{Outcome: lease.Lost, Error: why}, err
}
