package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// grace is how long an agent has to answer a directive before it is carried out
// without it.
const graceSeconds = 60

// maxReason bounds what people write about a change, in characters.
const maxReason = 2000

// Action is what a person wants of a job.
type Action struct {
	Verb    jobs.Trigger
	Reason  string          // for an answer the answer itself
	Version *int            // the version the person saw; nil does not care
	Commit  string          // for a merge, or the head that was looked at for an approval
	URL     string          // for a merge
	Result  json.RawMessage // of a job that a person completes; nil keeps what is there
	Key     string          // of a request for many jobs, which changes each of them once; "" for none
}

// Act changes a job's status for a person. A job that an agent works on is not
// torn from it: pause and cancel ask the agent, and are carried out when it
// answers or the grace is over.
//
// Faults: Forbidden; NotFound; Validation for a missing reason or answer;
// InvalidTransition with the detail "status"; VersionConflict with the current
// job as the detail "job"; for a merge ChildrenOpen as of Complete.
func (s *Service) Act(ctx context.Context, who tenancy.Principal, keyOrID string, a Action) (jobs.Job, error) {
	if !who.Can(tenancy.WriteJobs) {
		return jobs.Job{}, fault.New(fault.Forbidden, "Your role does not allow changing jobs.")
	}
	if err := a.check(); err != nil {
		return jobs.Job{}, err
	}
	var own change
	var others []change // that wait for the job
	job, err := s.jobs.Change(ctx, who, func(tx db.Tx) (jobs.Job, error) {
		own, others = change{}, nil
		locked, err := jobs.LockTx(ctx, tx, who.Workspace, keyOrID)
		if err != nil {
			return jobs.Job{}, err
		}
		if a.Key != "" {
			first, err := jobs.OnceTx(ctx, tx, who.Workspace, a.Key, locked.ID)
			if err != nil || !first {
				own = change{before: locked.Job, after: locked.Job}
				return locked.Job, err
			}
		}
		if err := locked.CheckVersion(a.Version); err != nil {
			return jobs.Job{}, err
		}
		if a.Verb == jobs.ByResume {
			if err := requireBudget(ctx, tx, who.Workspace, locked.Job); err != nil {
				return jobs.Job{}, err
			}
		}
		if locked.Status.Leased() {
			after, err := actOnLeased(ctx, tx, who, locked, a)
			own = change{before: locked.Job, after: after}
			return after, err
		}
		if err := jobs.WithdrawTx(ctx, tx, who.Workspace, locked); err != nil {
			return jobs.Job{}, err
		}
		saved, err := actOnFree(ctx, tx, who, locked, a)
		if err != nil {
			return jobs.Job{}, err
		}
		own = change{before: locked.Job, after: saved}
		if a.Verb == jobs.ByRetry {
			others, err = holdParentsTx(ctx, tx, who.Workspace, saved)
		} else {
			others, err = promoteDependentsTx(ctx, tx, who.Workspace, saved)
		}
		return saved, err
	})
	if err != nil {
		return job, err
	}
	s.afterCommit(ctx, who.Workspace, others...)
	// Whoever waits for the job itself was woken by its change.
	if own.freesSeat() {
		s.publish(who.Workspace, seatsOf([]change{own}))
	}
	s.promoteNext(ctx, who.Workspace, []change{own})
	return job, err
}

func (a Action) check() error {
	field, limit, needed := "reason", maxReason, false
	switch a.Verb {
	case jobs.ByAnswer:
		field, limit, needed = "answer", maxQuestion, true
	case jobs.ByReject, jobs.ByBlock, jobs.ByMergeFail, jobs.ByFinish:
		needed = true
	}
	if needed && strings.TrimSpace(a.Reason) == "" {
		return fault.Invalid(field, "It must not be empty: whoever reads it next has nothing else.")
	}
	if !isText(a.Reason, limit) {
		return fault.Invalid(field, "It must have at most %d characters of text.", limit)
	}
	if !isWebAddress(a.URL) {
		return fault.Invalid("url", notWebAddress)
	}
	p := fault.Problems{}
	p.Line("url", a.URL, jobs.MaxURL)
	p.Line(map[bool]string{true: "head", false: "commit"}[a.Verb == jobs.ByApprove], a.Commit, jobs.MaxCommit)
	return p.Err()
}

// isText reports whether the database keeps a text as it is, and at most limit
// characters are in it.
func isText(text string, limit int) bool {
	return utf8.RuneCountInString(text) <= limit && utf8.ValidString(text) && !strings.ContainsRune(text, 0)
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
		err := q.AttemptReject(ctx, tx, dbsqlc.AttemptRejectParams{WorkspaceID: who.Workspace, JobID: job.ID, Epoch: job.Epoch})
		if err != nil {
			return jobs.Job{}, fmt.Errorf("reject attempt: %w", err)
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
		return job.Unblock(job.Now, dependencyOpen)
	case jobs.ByAnswer:
		return job.Reply(job.Now, dependencyOpen, reason)
	case jobs.ByPause:
		return job.Pause()
	case jobs.ByResume:
		return job.Resume(job.Now, dependencyOpen)
	case jobs.ByCancel:
		return job.Cancel(reason)
	case jobs.ByRetry:
		return job.Retry(job.Now, dependencyOpen)
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

// actOnLeased asks the agent that works on a job to stop, or gives the job back
// at once where a person says so.
func actOnLeased(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Locked, a Action) (jobs.Job, error) {
	switch a.Verb {
	case jobs.ByRelease:
		d, err := job.GiveBack(job.Now, strings.TrimSpace(a.Reason))
		if err != nil {
			return jobs.Job{}, err
		}
		return endTx(ctx, tx, who, d, ending{outcome: outcomeReleased, error: a.Reason})
	case jobs.ByCancel, jobs.ByPause:
		return setDirective(ctx, tx, who, job, a, nil)
	case jobs.ByResume:
		return withdrawPause(ctx, tx, who, job)
	}
	return jobs.Job{}, job.Refuse(a.Verb)
}

// setDirective writes a directive on the lease. A cancel replaces a pause, and either
// of them a warning; asking twice changes nothing. The event says the payload.
func setDirective(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Locked, a Action, payload json.RawMessage) (jobs.Job,
	error) {
	kind := map[jobs.Trigger]eventlog.Type{jobs.ByCancel: eventlog.JobCancelRequested, jobs.ByPause: eventlog.JobPauseRequested}
	if job.Lease.Directive == string(a.Verb) || job.Lease.Directive == Cancel {
		return job.Job, nil
	}
	by := who.Actor()
	_, err := q.LeaseDirect(ctx, tx, dbsqlc.LeaseDirectParams{WorkspaceID: who.Workspace, JobID: job.ID,
		Directive: string(a.Verb), Reason: strings.TrimSpace(a.Reason), Actor: by.Name, ActorKind: string(by.Kind), ActorID: by.ID,
		GraceSeconds: graceSeconds})
	if err != nil {
		return jobs.Job{}, fmt.Errorf("direct lease: %w", err)
	}
	err = appendEvent(ctx, tx, who, eventlog.Event{Type: kind[a.Verb], JobID: &job.ID, Epoch: &job.Epoch,
		Changes: []eventlog.Change{{Field: "directive", Old: job.Lease.Directive, New: string(a.Verb)}}, Payload: payload})
	if err != nil {
		return jobs.Job{}, err
	}
	return jobs.LoadTx(ctx, tx, who.Workspace, job.ID.String())
}

// withdrawPause takes back a pause that the agent has not acknowledged: it works on
// as if nothing had been asked.
func withdrawPause(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Locked) (jobs.Job, error) {
	if job.Lease.Directive != Pause {
		return jobs.Job{}, job.Refuse(jobs.ByResume)
	}
	err := q.LeaseUndirect(ctx, tx, dbsqlc.LeaseUndirectParams{WorkspaceID: who.Workspace, JobID: job.ID})
	if err != nil {
		return jobs.Job{}, fmt.Errorf("withdraw pause: %w", err)
	}
	after, err := jobs.LoadTx(ctx, tx, who.Workspace, job.ID.String())
	if err != nil {
		return jobs.Job{}, err
	}
	return after, appendEvent(ctx, tx, who, eventlog.Event{Type: eventlog.JobResumed, JobID: &job.ID, Epoch: &job.Epoch,
		Changes: []eventlog.Change{{Field: "directive", Old: Pause, New: after.Lease.Directive}}})
}
