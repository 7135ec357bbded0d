package actions

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Service carries out what people decide.
type Service struct {
	jobs    *jobs.Service
	effects *lease.Effects
}

// New returns the actions on the jobs of a list.
func New(list *jobs.Service, effects *lease.Effects) *Service {
	return &Service{jobs: list, effects: effects}
}

// MaxReason bounds what people write about a change, in characters.
const MaxReason = jobs.MaxReason

// Action is what a person wants of a job.
type Action struct {
	Verb    jobs.Trigger
	Reason  string           // for an answer the answer itself
	Version *int             // the version the person saw; nil does not care
	Commit  string           // for a merge, or the head that was looked at for an approval
	URL     string           // for a merge
	Result  json.RawMessage  // of a job that a person completes; nil keeps what is there
	Edit    *jobs.Patch      // of a job that is retried: made first, both or neither
	Once    *idempotency.Key // nil where the request is not sent again
}

// Act changes a job's status for a person, and answers for an agent. A job that an agent works on is not
// taken from it: pause and cancel ask the agent, and are applied when it answers or
// its time to do so is over.
//
// Faults: Forbidden, of agents for all but the answer to a job that was found in one that
// they hold; NotFound; Validation for a missing reason or answer;
// InvalidTransition with the detail "status"; VersionConflict with the current
// job as the detail "job"; for a merge ChildrenOpen as of Complete; for an edit those of
// Patch.
func (s *Service) Act(ctx context.Context, who tenancy.Principal, keyOrID string, a Action) (jobs.Job, error) {
	if !who.Can(needed(a.Verb)) {
		return jobs.Job{}, fault.New(fault.Forbidden, "Your role does not allow changing jobs.")
	}
	if err := a.check(); err != nil {
		return jobs.Job{}, err
	}
	var own lease.Change
	var others []lease.Change // that wait for the job
	job, err := s.jobs.Change(ctx, who, func(tx db.Tx) (jobs.Job, error) {
		own, others = lease.Change{}, nil
		id, err := idempotency.OnceTx(ctx, tx, who, a.Once, func() (_ ids.ID, err error) {
			own, others, err = s.actTx(ctx, tx, who, keyOrID, a)
			return own.After.ID, err
		})
		if err == nil && a.Once.Replayed() {
			return jobs.LoadTx(ctx, tx, who.Workspace, id.String())
		}
		return own.After, err
	})
	if err != nil || a.Once.Replayed() {
		return job, err
	}
	s.effects.AfterCommit(ctx, who.Workspace, others...)
	// Whoever waits for the job itself was woken by its change.
	if own.FreesSeat() {
		s.effects.Publish(who.Workspace, lease.FreedSeats(own))
	}
	s.effects.PromoteNext(ctx, who.Workspace, own)
	return job, nil
}

// actTx changes the job, and those that wait for it.
func (s *Service) actTx(ctx context.Context, tx db.Tx, who tenancy.Principal, keyOrID string, a Action) (
	own lease.Change, others []lease.Change, err error,
) {
	if who.Kind == tenancy.KindAgent {
		if err := s.speakAsAgent(ctx, tx, who, &a); err != nil {
			return own, nil, err
		}
	}
	if a.Edit != nil {
		if _, _, err := jobs.EditTx(ctx, tx, who, keyOrID, *a.Edit, a.Verb); err != nil {
			return own, nil, err
		}
	}
	locked, err := lockFor(ctx, tx, who, keyOrID)
	if err != nil {
		return own, nil, err
	}
	if err := locked.CheckVersion(a.Version); err != nil {
		return own, nil, err
	}
	if a.Verb == jobs.ByResume {
		if err := lease.RequireBudgetTx(ctx, tx, who.Workspace, locked.Job); err != nil {
			return own, nil, err
		}
	}
	own.Before = locked.Job
	if locked.Status.Leased() {
		own.After, err = actOnLeased(ctx, tx, who, locked, a)
		return own, nil, err
	}
	if err := jobs.WithdrawTx(ctx, tx, who.Workspace, locked); err != nil {
		return own, nil, err
	}
	if own.After, err = actOnFree(ctx, tx, who, locked, a); err != nil {
		return own, nil, err
	}
	if a.Verb == jobs.ByRetry {
		others, err = lease.HoldParentsTx(ctx, tx, who.Workspace, own.After)
	} else {
		others, err = lease.PromoteDependentsTx(ctx, tx, who.Workspace, own.After)
	}
	return own, others, err
}

func (a Action) check() error {
	field, limit, needed := "reason", MaxReason, false
	switch a.Verb {
	case jobs.ByAnswer:
		field, limit, needed = "answer", lease.MaxQuestion, true
	case jobs.ByReject, jobs.ByBlock, jobs.ByMergeFail, jobs.ByFinish:
		needed = true
	}
	if needed && strings.TrimSpace(a.Reason) == "" {
		return fault.Invalid(field, "It must not be empty: whoever reads it next has nothing else.")
	}
	if !lease.IsText(a.Reason, limit) {
		return fault.Invalid(field, "It must have at most %d characters of text.", limit)
	}
	if !lease.IsWebAddress(a.URL) {
		return fault.Invalid("url", lease.NotWebAddress)
	}
	p := fault.Problems{}
	p.Line("url", a.URL, jobs.MaxURL)
	p.Line(map[bool]string{true: "head", false: "commit"}[a.Verb == jobs.ByApprove], a.Commit, jobs.MaxCommit)
	return p.Err()
}

// actOnFree changes a job that nobody works on.
func actOnFree(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Locked, a Action) (jobs.Job, error) {
	if a.Verb == jobs.ByMerge && job.Status == jobs.Approved || a.Verb == jobs.ByFinish && jobs.Can(job.Status, a.Verb) {
		if err := jobs.RequireChildrenDoneTx(ctx, tx, who.Workspace, job.Job); err != nil {
			return jobs.Job{}, err
		}
	}
	open, err := jobs.DependencyOpenTx(ctx, tx, who.Workspace, job.ID)
	if err != nil {
		return jobs.Job{}, fmt.Errorf("dependencies of %s: %w", job.Key, err)
	}
	d, err := decide(job, a, open)
	if err != nil {
		return jobs.Job{}, err
	}
	if a.Verb == jobs.ByReject {
		if err := q.AttemptReject(ctx, tx, who.Workspace, job.ID, job.Epoch); err != nil {
			return jobs.Job{}, err
		}
	}
	return jobs.SaveTx(ctx, tx, who, d)
}

func decide(job jobs.Locked, a Action, dependencyOpen bool) (jobs.Decision, error) {
	reason := strings.TrimSpace(a.Reason)
	switch a.Verb {
	case jobs.ByBlock:
		return job.Block(reason)
	case jobs.ByUnblock:
		return job.Unblock(dependencyOpen)
	case jobs.ByAnswer:
		return job.Reply(dependencyOpen, reason)
	case jobs.ByPause:
		return job.Pause()
	case jobs.ByResume:
		return job.Resume(dependencyOpen)
	case jobs.ByCancel:
		return job.Cancel(reason)
	case jobs.ByRetry:
		return job.Retry(dependencyOpen, reason)
	case jobs.ByApprove:
		return job.Approve(a.Commit)
	case jobs.ByReject:
		return job.Reject(reason)
	case jobs.ByMerge:
		return job.Merge(a.Commit, a.URL)
	case jobs.ByFinish:
		return job.Finish(reason, a.Result)
	case jobs.ByMergeFail:
		return job.FailMerge(reason)
	case jobs.ByArchive:
		return job.Archive()
	}
	return jobs.Decision{}, job.Refuse(a.Verb)
}

// actOnLeased directs the agent that works on a job to stop, or gives the job back
// at once where a person says so.
func actOnLeased(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Locked, a Action) (jobs.Job, error) {
	if job.Lease == nil {
		return actOnStray(ctx, tx, who, job, a)
	}
	switch a.Verb {
	case jobs.ByRelease:
		d, err := job.Release(strings.TrimSpace(a.Reason))
		if err != nil {
			return jobs.Job{}, err
		}
		return lease.EndTx(ctx, tx, who, d, lease.AttemptEnd{Outcome: lease.Released, Error: a.Reason})
	case jobs.ByCancel:
		return lease.DirectTx(ctx, tx, who, job, lease.Cancel, strings.TrimSpace(a.Reason), nil)
	case jobs.ByPause:
		if job.Lease.Directive == lease.Cancel {
			return jobs.Job{}, fault.New(fault.InvalidTransition, "%s is about to be cancelled and cannot be paused.", job.Key).
				With("status", string(job.Status))
		}
		return lease.DirectTx(ctx, tx, who, job, lease.Pause, strings.TrimSpace(a.Reason), nil)
	case jobs.ByResume:
		return withdrawPause(ctx, tx, who, job)
	}
	return jobs.Job{}, job.Refuse(a.Verb)
}

// actOnStray changes a job that is said to be worked on and whose lease is not there, which
// only damage brings about: nobody needs a directive.
func actOnStray(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Locked, a Action) (jobs.Job, error) {
	reason, outcome := strings.TrimSpace(a.Reason), lease.Released
	var d jobs.Decision
	var err error
	switch a.Verb {
	case jobs.ByRelease:
		d, err = job.Release(reason)
	case jobs.ByCancel:
		outcome = lease.Cancelled
		d, err = job.Cancel(reason)
	case jobs.ByPause:
		outcome = lease.Paused
		d, err = job.Pause()
	default:
		err = job.Refuse(a.Verb)
	}
	if err != nil {
		return jobs.Job{}, err
	}
	return lease.EndStrayTx(ctx, tx, who, d, lease.AttemptEnd{Outcome: outcome, Error: a.Reason})
}

// withdrawPause takes back a pause that the agent has not acknowledged: it works on
// as if there had been no directive. InvalidTransition where a stop pauses all work: the job
// would be directed to pause again at once, with new time to answer.
func withdrawPause(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Locked) (jobs.Job, error) {
	if job.Lease.Directive != lease.Pause {
		return jobs.Job{}, job.Refuse(jobs.ByResume)
	}
	stops, err := fleet.StopsTx(ctx, tx, who.Workspace)
	if err != nil {
		return jobs.Job{}, err
	}
	if s := stops.Covering(job.ProductID); s != nil && s.Hold == fleet.HoldAll {
		return jobs.Job{}, fault.New(fault.InvalidTransition, "Work on %s is stopped. It goes on once the stop is released.", job.Key).
			With("status", string(job.Status))
	}
	if err := q.LeaseUndirect(ctx, tx, who.Workspace, job.ID); err != nil {
		return jobs.Job{}, err
	}
	after, err := jobs.LoadTx(ctx, tx, who.Workspace, job.ID.String())
	if err != nil {
		return jobs.Job{}, err
	}
	return after, lease.AppendEvent(ctx, tx, who, eventlog.Event{Type: eventlog.JobResumed, JobID: &job.ID, Epoch: &job.Epoch,
		Changes: []eventlog.Change{{Field: "directive", Old: lease.Pause, New: after.Lease.Directive}}})
}
