package report

import (
	"bytes"
	"context"
	"slices"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// PullRequest is the one that an agent follows.
type PullRequest struct {
	URL    string // of its page
	Number int    // from 1 on
	Branch string // that it comes from
}

func (p PullRequest) check() error {
	problems := fault.Problems{}
	problems.Line("url", p.URL, jobs.MaxURL)
	if p.URL == "" || !lease.IsWebAddress(p.URL) {
		problems.Add("url", "It must be the address of a web page.")
	}
	if p.Number < 1 || p.Number > 1<<30 {
		problems.Add("number", "It must be 1 or more.")
	}
	if p.Branch == "" || utf8.RuneCountInString(p.Branch) > maxBranch {
		problems.Add("branch", "It must have 1 to 255 characters.")
	}
	problems.Line("branch", p.Branch, maxBranch)
	return problems.Err()
}

// Follow says that all the agent does for a merge job is to wait for a pull request: its lease
// takes no seat any more, nor the place of its repo, and the work names the pull request. Said
// again it changes nothing. Faults: Validation, also for a job that is not merged by pull
// request; TooMany where the agent follows as many as it may; NotFound, StaleEpoch, LeaseExpired,
// Cancelled, Paused, Superseded.
func (s *Service) Follow(ctx context.Context, who tenancy.Principal, ref lease.Ref, pull PullRequest) (lease.Status, error) {
	for _, check := range []func() error{func() error { return lease.RequireAgent(who) }, ref.Check, pull.check} {
		if err := check(); err != nil {
			return lease.Status{}, err
		}
	}
	var followed, work lease.Change
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		followed, work, err = s.followTx(ctx, tx, who, ref, pull)
		return err
	})
	if err != nil {
		return lease.Status{}, err
	}
	job := followed.After
	s.effects.Publish(who.Workspace, []ids.ID{job.Lease.FactoryID}, job)
	s.effects.Notify(who.Workspace, slices.DeleteFunc([]lease.Change{work}, func(c lease.Change) bool { return !c.Happened() })...)
	if job.Serialise != jobs.SerialiseNone {
		s.effects.LeftRepo(ctx, who.Workspace, job.Repo, job.Serialise)
	}
	return lease.Status{Job: job.Key, Epoch: job.Epoch, Directive: lease.Continue, ExpiresAt: &job.Lease.ExpiresAt}, nil
}

// followTx takes the lease off its seat. It returns the merge job as it is, and what changed of
// the work that it merges.
func (s *Service) followTx(
	ctx context.Context, tx db.Tx, who tenancy.Principal, ref lease.Ref, pull PullRequest,
) (followed, work lease.Change, err error) {
	if _, err := lease.TouchTx(ctx, tx, who); err != nil {
		return followed, work, err
	}
	if err := waitForAgent(ctx, tx, who); err != nil {
		return followed, work, err
	}
	job, err := jobs.LoadTx(ctx, tx, who.Workspace, ref.Job)
	if err != nil {
		return followed, work, err
	}
	merge, err := mergePullTx(ctx, tx, who.Workspace, job.ID)
	if err != nil {
		return followed, work, err
	}
	locked, err := lockBothTx(ctx, tx, who.Workspace, job.ID, merge)
	if err != nil {
		return followed, work, err
	}
	own := locked[job.ID]
	if !lease.IsHolder(who, own, ref.Epoch) {
		return followed, work, lease.Conflict(ctx, tx, who, own.Job, ref.Epoch)
	}
	red, err := s.redactor(ctx, tx, who.Workspace, locked[merge].Job)
	if err == nil && red.Text(pull.URL+"\n"+pull.Branch) != pull.URL+"\n"+pull.Branch {
		err = fault.Invalid("url", "It must hold no secret of the job.")
	}
	if err != nil {
		return followed, work, err
	}
	if err := saveFollowTx(ctx, tx, who, own.Job, pull); err != nil {
		return followed, work, err
	}
	followed = lease.Change{Before: own.Job, After: own.Job}
	if d, changed := locked[merge].OpenPullRequest(pull.URL); changed {
		work.Before = locked[merge].Job
		work.After, err = jobs.SaveTx(ctx, tx, who, d)
	}
	return followed, work, err
}

// lockBothTx locks two jobs in the order of their ids, as everybody does.
func lockBothTx(ctx context.Context, tx db.Tx, workspace, one, other ids.ID) (map[ids.ID]jobs.Locked, error) {
	order := []ids.ID{one, other}
	slices.SortFunc(order, func(a, b ids.ID) int { return bytes.Compare(a[:], b[:]) })
	locked := map[ids.ID]jobs.Locked{}
	for _, id := range order {
		job, err := jobs.LockTx(ctx, tx, workspace, id.String())
		if err != nil {
			return nil, err
		}
		locked[id] = job
	}
	return locked, nil
}

// tooManyFollowed refuses a pull request beyond what an agent may follow.
func tooManyFollowed(agent string) error {
	return fault.New(fault.TooMany, "%s follows %d pull requests already; this one keeps its seat until another ends.",
		agent, fleet.MaxFollowed)
}
