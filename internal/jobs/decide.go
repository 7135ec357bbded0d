package jobs

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// maxErrorLength is how many bytes of an error a job keeps.
const maxErrorLength = 4000

// Decision is a change of a job that has been decided on and not yet written.
type Decision struct {
	Before, After Job
	// By is what changes the status; "" where it stays.
	By   Trigger
	Type eventlog.Type
	// DecidedBy is who decided, where somebody else saves the decision.
	DecidedBy tenancy.Actor
	// Payload has what the event says beside the changed fields.
	Payload map[string]any
	// OtherChanges are changes of things other than the job's fields, such as a link.
	OtherChanges []eventlog.Change
}

// decide returns the change to status to by a trigger, with further changes, or
// InvalidTransition where the trigger leads nowhere from the job's status. SaveManyTx
// checks that the table allows the change.
func (j Job) decide(by Trigger, to Status, event eventlog.Type, changes ...func(*Decision)) (Decision, error) {
	if !Can(j.Status, by) {
		return Decision{}, j.Refuse(by)
	}
	d := Decision{Before: j, After: j, By: by, Type: event, Payload: map[string]any{}}
	d.After.Status = to
	if to != Waiting {
		d.After.WaitReason = NoWait
	}
	for _, change := range changes {
		change(&d)
	}
	return d, nil
}

// endsRank reports whether the job loses the rank that a person gave it: that was among jobs as urgent,
// and of a job that goes on.
func (d Decision) endsRank() bool {
	return d.Before.Priority != d.After.Priority || d.Before.Status.Finished() != d.After.Status.Finished()
}

// Refuse is InvalidTransition: the trigger leads nowhere from the job's status.
func (j Job) Refuse(by Trigger) error {
	return fault.New(fault.InvalidTransition, "%s is %s and cannot be %s.", j.Key, j.Status.Words(), by.participle()).
		With("status", string(j.Status))
}

// Block parks a job that nobody works on.
func (j Job) Block(reason string) (Decision, error) {
	return j.decide(ByBlock, Blocked, eventlog.JobBlocked, func(d *Decision) {
		d.After.BlockedReason = reason
	})
}

// Unblock ends a block; the job is claimable again unless something holds it. A
// question that nobody answered is dropped.
func (l Locked) Unblock(dependencyOpen bool) (Decision, error) {
	return l.decide(ByUnblock, Ready, eventlog.JobUnblocked, func(d *Decision) {
		d.After.BlockedReason = ""
		if l.Asks() {
			d.After.Question = ""
		}
	}, readyOrWaiting(l.Now, dependencyOpen))
}

// Ask parks a job with its holder's question and frees the seat. A person's
// answer lets it go on.
func (j Job) Ask(question string) (Decision, error) {
	return j.decide(ByAsk, Blocked, eventlog.JobAsked, func(d *Decision) {
		d.After.Question = question
		d.After.Answer = ""
		d.After.BlockedReason = "question"
	})
}

// Reply answers the question that parked the job; the next attempt is given
// both. InvalidTransition where nothing was asked, or the answer was given before.
func (l Locked) Reply(dependencyOpen bool, answer string) (Decision, error) {
	if l.Status == Blocked && !l.Asks() {
		return Decision{}, fault.New(fault.InvalidTransition,
			"%s is blocked by a person; no question is open. Unblock it instead.", l.Key).With("status", string(l.Status))
	}
	return l.decide(ByAnswer, Ready, eventlog.JobAnswered, func(d *Decision) {
		d.After.BlockedReason = ""
		d.After.Answer = answer
	}, readyOrWaiting(l.Now, dependencyOpen))
}

// Pause holds a job until somebody resumes it.
func (j Job) Pause() (Decision, error) {
	return j.decide(ByPause, Paused, eventlog.JobPaused)
}

// Resume ends a pause; the job is claimable again unless something holds it.
func (l Locked) Resume(dependencyOpen bool) (Decision, error) {
	return l.decide(ByResume, Ready, eventlog.JobResumed, readyOrWaiting(l.Now, dependencyOpen))
}

// Cancel ends a job for good.
func (j Job) Cancel(reason string) (Decision, error) {
	return j.decide(ByCancel, Aborted, eventlog.JobCancelled, func(d *Decision) {
		d.After.LastError = reason
		d.After.FailureKind = ""
		d.Payload["reason"] = reason
	})
}

// Retry makes a finished job claimable again: both counters start again, the epoch never
// does. The next attempt goes on from what the last one left, and is given what more there is to do,
// "" for no more than before. InvalidTransition for a job of a system kind, whose order was decided about.
func (l Locked) Retry(dependencyOpen bool, more string) (Decision, error) {
	if err := l.requireNotSystem(ByRetry); err != nil {
		return Decision{}, err
	}
	return l.decide(ByRetry, Ready, eventlog.JobRetried, func(d *Decision) {
		d.After.FailureCount = 0
		d.After.LostCount = 0
		d.After.NotBefore = nil
		d.After.ProgressPercent = nil
		d.After.CurrentStep = ""
		d.After.ApprovedHead = ""
		d.After.MergedCommit = ""
		if more != "" {
			d.After.Feedback = more
			d.Payload["reason"] = more
		}
	}, readyOrWaiting(l.Now, dependencyOpen))
}

// Approve accepts work that was handed in; head is the commit that was looked
// at, by default the one that was handed in. VersionConflict where head is not the commit that
// was handed in: new work came after it was looked at.
func (j Job) Approve(head string) (Decision, error) {
	commit := j.HandedIn()
	if head == "" || strings.HasPrefix(commit, head) {
		head = cut(commit, MaxCommit) // in full, as it is merged
	}
	d, err := j.decide(ByApprove, Approved, eventlog.JobApproved, func(d *Decision) {
		d.After.ApprovedHead = head
		d.Payload["head"] = head
	})
	if err == nil && head != "" && commit != "" && !sameCommit(head, commit) {
		return Decision{}, fault.New(fault.VersionConflict,
			"The work of %s is at %s now. Look at it again.", j.Key, cut(commit, 40)).With("job", j)
	}
	return d, err
}

// HandedIn returns the commit that the result names, "" where it names none.
func (j Job) HandedIn() string {
	var result struct {
		Commit string `json:"commit"`
	}
	// A result of another shape names no commit.
	_ = json.Unmarshal(j.Result, &result)
	return result.Commit
}

// sameCommit reports whether one names the other, in full or shortened.
func sameCommit(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// Reject sends handed-in work back; the next attempt is given the reason, and the
// one after it too unless there is a newer one.
func (j Job) Reject(reason string) (Decision, error) {
	return j.decide(ByReject, Ready, eventlog.JobRejected, func(d *Decision) {
		d.After.Feedback = reason
		d.After.ProgressPercent = nil
		d.After.CurrentStep = ""
		d.Payload["reason"] = reason
		if j.CommentsOpen > 0 {
			d.Payload["comments"] = j.CommentsOpen
		}
	})
}

// Merge completes approved work. Without an address the one that was handed in
// stays.
func (j Job) Merge(commit, url string) (Decision, error) {
	return j.decide(ByMerge, Completed, eventlog.JobMerged, func(d *Decision) {
		d.After.MergedCommit = commit
		d.After.LastError = ""
		if url != "" {
			d.After.URL = url
		}
		d.Payload["commit"] = commit
		d.Payload["url"] = url
		d.dropForNext()
	})
}

// Finish completes a job that nobody holds: a person says that it is done. The result
// stays as it is where there is no other. InvalidTransition for a job of a system kind.
func (j Job) Finish(reason string, result json.RawMessage) (Decision, error) {
	if err := j.requireNotSystem(ByFinish); err != nil {
		return Decision{}, err
	}
	return j.decide(ByFinish, Completed, eventlog.JobCompleted, func(d *Decision) {
		if len(result) > 0 {
			d.After.Result = result
		}
		d.After.BlockedReason = ""
		d.After.NotBefore = nil
		d.Payload["reason"] = reason
		d.dropForNext()
	})
}

// HoldMerge records why the merge of approved work cannot begin, or end, yet. The second
// result is false where the reason is the same as before.
func (j Job) HoldMerge(reason string) (Decision, bool) {
	if j.Status != Approved || j.LastError == reason {
		return Decision{}, false
	}
	d := Decision{Before: j, After: j, Type: eventlog.JobMergeHeld, Payload: map[string]any{"reason": reason}}
	d.After.LastError = reason
	d.After.FailureKind = ""
	return d, true
}

// OpenPullRequest records the pull request by which approved work is merged. The second result
// is false where it was recorded before.
func (j Job) OpenPullRequest(url string) (Decision, bool) {
	if j.Status != Approved || j.URL == url {
		return Decision{}, false
	}
	d := Decision{Before: j, After: j, Type: eventlog.JobPullRequestOpened, Payload: map[string]any{"url": url}}
	d.After.URL = url
	return d, true
}

// FailMerge sends approved work that could not be merged back to review. It needs a new
// approval.
func (j Job) FailMerge(reason string) (Decision, error) {
	return j.decide(ByMergeFail, InReview, eventlog.JobMergeFailed, func(d *Decision) {
		d.After.LastError = reason
		d.After.FailureKind = ""
		d.After.ApprovedHead = ""
		d.Payload["reason"] = reason
	})
}

// FailCycle ends a job that waits for itself, by way of the jobs of the path.
func (j Job) FailCycle(path []string) (Decision, error) {
	return j.decide(ByCycle, Failed, eventlog.JobFailed, func(d *Decision) {
		d.After.FailureKind = FailedOther
		d.After.LastError = "dependency_cycle: " + strings.Join(path, " waits for ")
		d.Payload["reason"] = "dependency_cycle"
		d.Payload["path"] = path
	})
}

// Archive takes a finished job off the board.
func (j Job) Archive() (Decision, error) {
	return j.decide(ByArchive, Archived, eventlog.JobArchived)
}

// Start returns the first sign of work on a claimed job.
func (j Job) Start() (Decision, error) {
	return j.decide(ByStart, Running, eventlog.JobStarted)
}

// Work is what an agent hands in.
type Work struct {
	Result       json.RawMessage
	FilesTouched []string
	URL          string
}

// Complete ends an attempt with its work: in review, or completed where no review is
// required. Nobody has approved this work yet. Without an address the previous one stays:
// that of a pull request, which goes on.
func (j Job) Complete(w Work) (Decision, error) {
	to, event := Completed, eventlog.JobCompleted
	if j.ReviewRequired {
		to, event = InReview, eventlog.JobHandedIn
	}
	return j.decide(ByComplete, to, event, func(d *Decision) {
		d.After.Result = w.Result
		d.After.FilesTouched = set(w.FilesTouched)
		d.After.URL = cmp.Or(w.URL, j.URL)
		d.After.LastError = ""
		d.After.FailureKind = ""
		d.After.ApprovedHead = ""
		d.After.MergedCommit = ""
		if d.After.HandedIn() != j.HandedIn() {
			d.After.Verdict = ""
		}
		d.After.ProgressPercent = new(100)
		d.dropForNext()
	})
}

// dropForNext removes from a completed job what was meant for its next attempt: the
// rejection's reason, the question and its answer. The events have them.
func (d *Decision) dropForNext() {
	if d.After.Status == Completed {
		d.After.Feedback, d.After.Question, d.After.Answer = "", "", ""
	}
}

// Release ends an attempt without a result; it counts neither as a failure nor as a loss.
func (l Locked) Release(reason string) (Decision, error) {
	return l.decide(ByRelease, Ready, eventlog.JobReleased, func(d *Decision) {
		d.Payload["reason"] = reason
	}, readyOrWaiting(l.Now, false))
}

// Preempt is Release of a job whose seat goes to a more urgent one, by its key.
func (l Locked) Preempt(job string) (Decision, error) {
	return l.decide(ByRelease, Ready, eventlog.JobPreempted, func(d *Decision) {
		d.Payload["job"] = job
	}, readyOrWaiting(l.Now, false))
}

// Fail ends an attempt that failed. A failure that may be retried waits for the backoff; the
// job fails for good when its retries are used up or make no sense.
func (l Locked) Fail(retryable bool, kind FailureKind, message string) (Decision, error) {
	failures := l.FailureCount + 1
	to, event := Waiting, eventlog.JobAttemptFailed
	if !retryable || failures > l.MaxRetries {
		to, event = Failed, eventlog.JobFailed
	}
	return l.decide(ByFailure, to, event, func(d *Decision) {
		if retryable && to == Failed {
			d.endByLimit(retryLimit)
		}
		d.After.FailureCount = failures
		d.After.LastError = cut(message, maxErrorLength)
		d.After.FailureKind = kind
		d.Payload["error"] = d.After.LastError
		d.Payload["retryable"] = retryable
		d.backOff(l.Now, failures)
	})
}

// FailOfHost ends an attempt that failed through its host: a provider that takes no requests, a
// key that is not valid, a repository that cannot be read. The job waits for the time, or for
// its first backoff where wait is 0; it counts neither as a failure nor as a loss.
func (l Locked) FailOfHost(kind FailureKind, wait time.Duration, message string) (Decision, error) {
	return l.decide(ByFailure, Waiting, eventlog.JobAttemptFailed, func(d *Decision) {
		d.After.LastError = cut(message, maxErrorLength)
		d.After.FailureKind = kind
		d.Payload["error"] = d.After.LastError
		d.Payload["retryable"] = true
		d.backOff(l.Now, 1)
		if wait > 0 {
			d.After.NotBefore = new(l.Now.Add(wait))
		}
	})
}

// Lose takes a lease back from an agent whose heartbeats stopped. A loss is not a failure: it
// has its own counter and its own limit. The job waits for wait, which spreads the return of
// many jobs that were lost at once, and for the time that a person set meanwhile.
func (l Locked) Lose(reason string, wait time.Duration) (Decision, error) {
	losses := l.LostCount + 1
	to, event := Ready, eventlog.JobLost
	if losses > l.MaxLost {
		to, event = Failed, eventlog.JobFailed
	}
	return l.decide(ByLoss, to, event, func(d *Decision) {
		d.After.LostCount = losses
		d.Payload["reason"] = reason
		if to == Failed {
			d.endByLimit(lossLimit)
			d.After.LastError = "Lost " + reason
			d.After.FailureKind = FailedCrash
			return
		}
		d.readyOrWaiting(l.Now, false)
		if d.After.Status == Ready && wait > 0 {
			d.After.Status = Waiting
			d.After.WaitReason = WaitRetryBackoff
			d.After.NotBefore = new(l.Now.Add(wait))
		}
	})
}

// TimeOut takes a job from a holder that is long past its estimate and makes no
// progress. It goes back at once, one step more urgent; each time counts as a
// failure, so that it ends (ADR 0014).
func (l Locked) TimeOut(reason string) (Decision, error) {
	failures := l.FailureCount + 1
	to, event := Ready, eventlog.JobTimedOut
	if failures > l.MaxRetries {
		to, event = Failed, eventlog.JobFailed
	}
	return l.decide(ByTimeout, to, event, func(d *Decision) {
		d.After.FailureCount = failures
		d.After.LastError = reason
		d.After.FailureKind = FailedTimeout
		d.Payload["reason"] = reason
		if to == Failed {
			d.endByLimit(retryLimit)
			return
		}
		d.After.Priority = min(l.Priority+1, MaxPriority)
		d.readyOrWaiting(l.Now, false)
	})
}

// The limits that end a job: the actor of the decision where one is reached, and the event's
// reason.
const (
	retryLimit = "max_retries"
	lossLimit  = "max_lost"
)

// endByLimit makes one of the job's limits the actor and the reason of its end.
func (d *Decision) endByLimit(limit string) {
	d.DecidedBy = tenancy.Actor{Kind: tenancy.KindSystem, ID: limit, Name: limit}
	d.Payload["exhausted"] = limit
}

// cut shortens s to at most n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
