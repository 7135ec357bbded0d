package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

const (
	// sweepSize is how many jobs one look at one workspace takes up.
	sweepSize = 200
	// maxBatches is how many looks one sweep for lapsed leases takes.
	maxBatches = 50
	// maxFailures is how many of them may fail before it is given up.
	maxFailures = 10
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

// lapsed are the workspaces that have leases to take back.
func (s *Service) lapsed(ctx context.Context) (workspaces []ids.ID, err error) {
	err = s.db.InSystem(ctx, func(tx db.Tx) (err error) {
		workspaces, err = q.LeaseLapsedWorkspaces(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("lapsed leases: %w", err)
	}
	return workspaces, nil
}

// reapInPassing takes back a few lapsed leases of a workspace before a claim looks.
func (s *Service) reapInPassing(ctx context.Context, workspace ids.ID) {
	lapsed, err := s.expired.in(ctx, workspace)
	if lapsed {
		_, err = s.reapWorkspace(ctx, workspace, claimReaps)
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
		n, err := s.reapBatch(ctx, workspace, sweepSize, &r)
		if total += n; err != nil || n < sweepSize {
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
		return s.reapWorkspace(ctx, who.Workspace, sweepSize)
	}
	job, err := s.jobs.Get(ctx, who, keyOrID)
	if err != nil {
		return 0, err
	}
	why := "taken back by " + who.Name
	taken, err := s.revokeLease(ctx, who, job.ID, func(job jobs.Locked, lease dbsqlc.LeaseLockRow) (jobs.Decision, ending, bool, error) {
		d, e, err := reclaimed(job, lease, why)
		return d, e, true, err
	})
	if !taken.happened() || err != nil {
		return 0, err
	}
	s.afterCommit(ctx, who.Workspace, taken)
	return 1, nil
}

// reclaimed is the decision about a lease that a person takes back: a loss only
// where it has lapsed.
func reclaimed(job jobs.Locked, lease dbsqlc.LeaseLockRow, why string) (jobs.Decision, ending, error) {
	if _, lapsed := lapse(lease); lapsed || lease.Directive == Cancel || lease.Directive == Pause {
		return lost(job, why, 0)
	}
	d, err := job.GiveBack(job.Now, why)
	return d, ending{outcome: outcomeReleased, error: why}, err
}

// reapWorkspace takes back the lapsed leases of one workspace, the oldest first,
// at most limit.
func (s *Service) reapWorkspace(ctx context.Context, workspace ids.ID, limit int32) (int, error) {
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
func (s *Service) reapBatch(ctx context.Context, workspace ids.ID, limit int32, r *returns) (int, error) {
	var lapsed []dbsqlc.LeaseLapsedRow
	err := s.db.InWorkspace(ctx, workspace, func(tx db.Tx) (err error) {
		lapsed, err = q.LeaseLapsed(ctx, tx, dbsqlc.LeaseLapsedParams{WorkspaceID: workspace, MaxRows: limit})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("lapsed leases: %w", err)
	}
	var list []ids.ID
	for _, l := range lapsed {
		list, r.spread = append(list, l.JobID), max(r.spread, spreadOf(int(l.Lapsed)))
	}
	var changed []change
	n, err := forEachJob(list, func(id ids.ID) (bool, error) {
		taken, err := s.revokeLease(ctx, tenancy.System(workspace, "reaper"), id, ifLapsed(r.wait()))
		if err == nil && taken.happened() {
			changed = append(changed, taken)
		}
		return taken.happened(), err
	})
	s.afterCommit(ctx, workspace, changed...)
	return n, err
}

// spreadOf is the time over which the jobs of n lapsed leases come back, beyond
// the first few: twenty a second, a minute at most.
func spreadOf(n int) time.Duration {
	return min(time.Duration(n)*time.Second/atOnce, maxSpread)
}

// verdict decides about a lease that is locked with its job; ok is false where it
// is left alone.
type verdict func(jobs.Locked, dbsqlc.LeaseLockRow) (d jobs.Decision, e ending, ok bool, err error)

// ifLapsed takes back a lease that has lapsed: one that was renewed or ended
// meanwhile is left alone.
func ifLapsed(wait time.Duration) verdict {
	return func(job jobs.Locked, lease dbsqlc.LeaseLockRow) (jobs.Decision, ending, bool, error) {
		why, lapsed := lapse(lease)
		if !lapsed {
			return jobs.Decision{}, ending{}, false, nil
		}
		d, e, err := lost(job, why, wait)
		return d, e, true, err
	}
}

// revokeLease ends one lease in a transaction of its own, if the verdict says so.
// The zero change: it was left alone.
func (s *Service) revokeLease(ctx context.Context, who tenancy.Principal, id ids.ID, judge verdict) (taken change, err error) {
	err = s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		locked, lease, err := lockLease(ctx, tx, who.Workspace, id)
		if err != nil || lease == nil {
			return err
		}
		d, e, ok, err := judge(locked, *lease)
		if err != nil || !ok {
			return err
		}
		job, err := endTx(ctx, tx, who, d, e)
		taken = change{before: locked.Job, after: job}
		return err
	})
	if err != nil {
		return change{}, err
	}
	return taken, nil
}

// lockLease locks a job and the lease that it has; nil where there is none.
func lockLease(ctx context.Context, tx db.Tx, workspace, id ids.ID) (jobs.Locked, *dbsqlc.LeaseLockRow, error) {
	locked, err := jobs.LockTx(ctx, tx, workspace, id.String())
	if err != nil {
		return locked, nil, err
	}
	lease, err := q.LeaseLock(ctx, tx, dbsqlc.LeaseLockParams{WorkspaceID: workspace, JobID: id})
	if errors.Is(err, pgx.ErrNoRows) {
		return locked, nil, nil
	}
	if err != nil {
		return locked, nil, fmt.Errorf("lock lease: %w", err)
	}
	return locked, &lease, nil
}

// lapse says why a lease is to be taken back, if it is.
func lapse(l dbsqlc.LeaseLockRow) (why string, ok bool) {
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

// lost is the decision about a job whose lease is taken back: what a person
// asked for goes before the loss.
func lost(job jobs.Locked, why string, wait time.Duration) (jobs.Decision, ending, error) {
	if d, outcome, ok, err := applyDirective(job.Job); ok {
		return d, ending{outcome: outcome, error: why}, err
	}
	d, err := job.Lose(job.Now, why, wait)
	return d, ending{outcome: outcomeLost, error: why}, err
}

// forEachJob does something to every job of a list and counts what it changed. A few
// failures do not keep the other jobs; many mean that it is not the jobs.
func forEachJob(list []ids.ID, do func(ids.ID) (bool, error)) (done int, failed error) {
	failures := 0
	for _, id := range list {
		ok, err := do(id)
		if ok {
			done++
		}
		if err == nil {
			continue
		}
		failed = errors.Join(failed, err)
		if failures++; failures == maxFailures {
			break
		}
	}
	return done, failed
}
