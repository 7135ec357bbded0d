package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

const (
	// batch is how many jobs one sweep of one workspace looks at.
	batch = 200
	// maxFailures is how many of them may fail before it is given up.
	maxFailures = 10
)

// Reap takes back, in every workspace, the leases that expired, whose agent is
// dead, or whose directive's grace is over. It returns how many. Several
// processes may reap at once: each lease is ended by one of them.
func (s *Service) Reap(ctx context.Context) (int, error) {
	var workspaces []ids.ID
	err := s.db.InSystem(ctx, func(tx db.Tx) (err error) {
		workspaces, err = q.LeaseLapsedWorkspaces(ctx, tx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("lapsed leases: %w", err)
	}
	total := 0
	var failed error
	for _, workspace := range workspaces {
		n, err := s.reapWorkspace(ctx, workspace, batch)
		total, failed = total+n, errors.Join(failed, err)
	}
	return total, failed
}

// Reclaim takes back lapsed leases of one workspace now, or, where a job is
// named, that job's lease whether it has lapsed or not.
func (s *Service) Reclaim(ctx context.Context, who tenancy.Principal, keyOrID string) (int, error) {
	if !who.Can(tenancy.RunFleet) {
		return 0, fault.New(fault.Forbidden, "Only owners and admins take leases back.")
	}
	if keyOrID == "" {
		return s.reapWorkspace(ctx, who.Workspace, batch)
	}
	job, err := s.jobs.Get(ctx, who, keyOrID)
	if err != nil {
		return 0, err
	}
	ok, err := s.takeBack(ctx, who, job.ID, "taken back by "+who.Name, false)
	if !ok || err != nil {
		return 0, err
	}
	return 1, nil
}

// reapWorkspace takes back the lapsed leases of one workspace, the oldest first.
// One that cannot be had now does not keep the others.
func (s *Service) reapWorkspace(ctx context.Context, workspace ids.ID, limit int32) (int, error) {
	var lapsed []ids.ID
	err := s.db.InWorkspace(ctx, workspace, func(tx db.Tx) (err error) {
		lapsed, err = q.LeaseLapsed(ctx, tx, dbsqlc.LeaseLapsedParams{WorkspaceID: workspace, MaxRows: limit})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("lapsed leases: %w", err)
	}
	return each(lapsed, func(job ids.ID) (bool, error) {
		return s.takeBack(ctx, tenancy.System(workspace, "reaper"), job, "", true)
	})
}

// takeBack ends one lease in a transaction of its own. Where onlyLapsed is set,
// a lease that was renewed or ended meanwhile is left alone.
func (s *Service) takeBack(ctx context.Context, who tenancy.Principal, id ids.ID, reason string, onlyLapsed bool) (bool, error) {
	var job jobs.Job
	var freed []ids.ID
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		locked, err := jobs.LockTx(ctx, tx, who.Workspace, id.String())
		if err != nil {
			return err
		}
		lease, err := q.LeaseLock(ctx, tx, dbsqlc.LeaseLockParams{WorkspaceID: who.Workspace, JobID: id})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("lock lease: %w", err)
		}
		why, lapsed := lapse(lease)
		if onlyLapsed && !lapsed {
			return nil
		}
		if reason != "" {
			why = reason
		}
		d, e, err := lost(locked, why)
		if err != nil {
			return err
		}
		job, err = endTx(ctx, tx, who, d, e)
		freed = factoriesOf(locked.Lease)
		return err
	})
	if err != nil || job.Key == "" {
		return false, err
	}
	s.published(who.Workspace, freed, job)
	return true, nil
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
func lost(job jobs.Locked, why string) (jobs.Decision, ending, error) {
	if d, outcome, ok, err := carryOut(job.Job); ok {
		return d, ending{outcome: outcome, error: why}, err
	}
	d, err := job.Lose(job.Now, why)
	return d, ending{outcome: outcomeLost, error: why}, err
}

// Promote makes claimable, in every workspace, the jobs whose time has come and
// those whose dependencies were completed without their being noticed. It
// returns how many.
func (s *Service) Promote(ctx context.Context) (int, error) {
	due := map[ids.ID][]ids.ID{}
	err := s.db.InSystem(ctx, func(tx db.Tx) error {
		rows, err := q.JobDue(ctx, tx, batch)
		for _, r := range rows {
			due[r.WorkspaceID] = append(due[r.WorkspaceID], r.ID)
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("due jobs: %w", err)
	}
	total := 0
	var failed error
	for workspace, list := range due {
		n, err := s.promoteAll(ctx, workspace, list)
		total, failed = total+n, errors.Join(failed, err)
	}
	return total, failed
}

// SweepDependencies finds jobs that wait for nothing any more, in every
// workspace: what the cap of a completion, or a crash, left behind.
func (s *Service) SweepDependencies(ctx context.Context) (int, error) {
	var workspaces []ids.ID
	err := s.db.InSystem(ctx, func(tx db.Tx) (err error) {
		workspaces, err = q.WorkspaceIDs(ctx, tx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("list workspaces: %w", err)
	}
	total := 0
	var failed error
	for _, workspace := range workspaces {
		var list []ids.ID
		err := s.db.InWorkspace(ctx, workspace, func(tx db.Tx) (err error) {
			list, err = q.JobDependencyFreed(ctx, tx, dbsqlc.JobDependencyFreedParams{WorkspaceID: workspace, MaxRows: batch})
			return err
		})
		if err != nil {
			return total, fmt.Errorf("freed jobs: %w", err)
		}
		n, err := s.promoteAll(ctx, workspace, list)
		total, failed = total+n, errors.Join(failed, err)
	}
	return total, failed
}

// each does something to every job of a list and counts what it changed. A few
// failures do not keep the other jobs; many mean that it is not the jobs.
func each(list []ids.ID, do func(ids.ID) (bool, error)) (done int, failed error) {
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

// promoteAll promotes each job in a transaction of its own. One that cannot be
// had now does not keep the others.
func (s *Service) promoteAll(ctx context.Context, workspace ids.ID, list []ids.ID) (int, error) {
	return each(list, func(id ids.ID) (ok bool, err error) {
		var job jobs.Job
		err = s.db.InWorkspace(ctx, workspace, func(tx db.Tx) (err error) {
			job, ok, err = promoteTx(ctx, tx, tenancy.System(workspace, "promotion"), id)
			return err
		})
		if ok = ok && err == nil; ok {
			s.wake.Publish(jobs.Topics(workspace, job)...)
		}
		return ok, err
	})
}
