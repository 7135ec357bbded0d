package jobs

import (
	"math/rand/v2"
	"time"

	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
)

// Limits of the retry backoff (product.md section 2).
const (
	maxBackoff     = 24 * time.Hour
	backoffJitter  = 0.2
	maxErrorLength = 4000
)

// Decision is a change of a job that has been decided on and not yet written.
type Decision struct {
	Before, After Job
	Type          eventlog.Type
	// Payload is what the event says beside the changed fields.
	Payload map[string]any
}

// decide returns the change to status to by a trigger, or InvalidTransition
// where product.md's table does not name that edge.
func (j Job) decide(by Trigger, to Status, kind eventlog.Type) (Decision, error) {
	if !Allowed(j.Status, by, to) {
		return Decision{Payload: map[string]any{}}, j.Refuse(by)
	}
	after := j
	after.Status = to
	if to != Waiting {
		after.WaitReason = NoWait
	}
	return Decision{Before: j, After: after, Type: kind, Payload: map[string]any{}}, nil
}

// Refuse is InvalidTransition: the trigger leads nowhere from the job's status.
func (j Job) Refuse(by Trigger) error {
	return fault.New(fault.InvalidTransition, "%s is %s; %s is not possible then.", j.Key, j.Status, by).
		With("status", string(j.Status))
}

// claimable moves the decision to ready, or to waiting where something still
// holds the job: an open dependency first, then a time.
func (d Decision) claimable(now time.Time, dependencyOpen bool) Decision {
	switch {
	case dependencyOpen:
		d.After.Status, d.After.WaitReason = Waiting, WaitDependency
	case d.After.NotBefore != nil && d.After.NotBefore.After(now):
		d.After.Status, d.After.WaitReason = Waiting, WaitNotBefore
	default:
		d.After.Status, d.After.WaitReason = Ready, NoWait
	}
	return d
}

// Promote makes a waiting job claimable once nothing holds it any more, or says
// what it waits for now where that has changed. The second result is false where
// it waits for the same as before.
func (j Job) Promote(now time.Time, dependencyOpen bool) (Decision, bool) {
	d, err := j.decide(ByPromote, Ready, eventlog.JobPromoted)
	if err != nil {
		return Decision{}, false
	}
	d = d.claimable(now, dependencyOpen)
	switch {
	case d.After.Status == Ready:
		d.After.NotBefore = nil
	case j.WaitReason == WaitDependency && !dependencyOpen:
		d.Type = eventlog.JobHeld
	default:
		return Decision{}, false
	}
	return d, true
}

// Block parks a job that nobody works on.
func (j Job) Block(reason string) (Decision, error) {
	d, err := j.decide(ByBlock, Blocked, eventlog.JobBlocked)
	d.After.BlockedReason = reason
	return d, err
}

// Unblock ends a block; the job is claimable again unless something holds it.
func (j Job) Unblock(now time.Time, dependencyOpen bool) (Decision, error) {
	d, err := j.decide(ByUnblock, Ready, eventlog.JobUnblocked)
	d.After.BlockedReason, d.After.Question = "", ""
	return d.claimable(now, dependencyOpen), err
}

// Pause holds a job until somebody resumes it.
func (j Job) Pause() (Decision, error) {
	return j.decide(ByPause, Paused, eventlog.JobPaused)
}

// Resume ends a pause; the job is claimable again unless something holds it.
func (j Job) Resume(now time.Time, dependencyOpen bool) (Decision, error) {
	d, err := j.decide(ByResume, Ready, eventlog.JobResumed)
	return d.claimable(now, dependencyOpen), err
}

// Cancel ends a job for good.
func (j Job) Cancel(reason string) (Decision, error) {
	d, err := j.decide(ByCancel, Aborted, eventlog.JobCancelled)
	d.After.LastError = reason
	d.Payload["reason"] = reason
	return d, err
}

// Retry gives a finished job a new life: both counters start again, the epoch
// never does.
func (j Job) Retry(now time.Time, dependencyOpen bool) (Decision, error) {
	d, err := j.decide(ByRetry, Ready, eventlog.JobRetried)
	d.After.FailureCount, d.After.LostCount = 0, 0
	d.After.NotBefore = nil
	d.After.ProgressPercent, d.After.CurrentStep = nil, ""
	return d.claimable(now, dependencyOpen), err
}

// Approve accepts work that was handed in; head is the commit that was looked
// at, where one was named.
func (j Job) Approve(head string) (Decision, error) {
	d, err := j.decide(ByApprove, Approved, eventlog.JobApproved)
	d.Payload["head"] = head
	return d, err
}

// Reject sends handed-in work back; the next attempt is given the reason.
func (j Job) Reject(reason string) (Decision, error) {
	d, err := j.decide(ByReject, Ready, eventlog.JobRejected)
	d.After.Feedback = reason
	d.After.ProgressPercent, d.After.CurrentStep = nil, ""
	d.Payload["reason"] = reason
	return d, err
}

// Merge completes approved work.
func (j Job) Merge(commit, url string) (Decision, error) {
	d, err := j.decide(ByMerge, Completed, eventlog.JobMerged)
	d.Payload["commit"], d.Payload["url"] = commit, url
	return d, err
}

// Archive takes a finished job off the board.
func (j Job) Archive() (Decision, error) {
	return j.decide(ByArchive, Archived, eventlog.JobArchived)
}

// Start is the first sign of work on a claimed job.
func (j Job) Start() (Decision, error) {
	return j.decide(ByStart, Running, eventlog.JobStarted)
}

// HandIn ends an attempt with its result: in review, or completed where no
// review is required.
func (j Job) HandIn(result []byte) (Decision, error) {
	to, kind := Completed, eventlog.JobCompleted
	if j.ReviewRequired {
		to, kind = InReview, eventlog.JobHandedIn
	}
	d, err := j.decide(ByComplete, to, kind)
	hundred := 100
	d.After.Result, d.After.LastError = result, ""
	d.After.ProgressPercent = &hundred
	return d, err
}

// GiveBack ends an attempt without a result and without blame.
func (j Job) GiveBack(now time.Time, reason string) (Decision, error) {
	d, err := j.decide(ByRelease, Ready, eventlog.JobReleased)
	d.Payload["reason"] = reason
	return d.claimable(now, false), err
}

// Fail ends an attempt that went wrong. A failure that may be retried waits for
// the backoff; the job fails for good when retries are used up or make no sense.
func (j Job) Fail(now time.Time, retryable bool, message string) (Decision, error) {
	failures := j.FailureCount + 1
	to, kind := Waiting, eventlog.JobAttemptFailed
	if !retryable || failures > j.MaxRetries {
		to, kind = Failed, eventlog.JobFailed
	}
	d, err := j.decide(ByFailure, to, kind)
	d.After.FailureCount = failures
	d.After.LastError = cut(message, maxErrorLength)
	d.Payload["error"], d.Payload["retryable"] = d.After.LastError, retryable
	return d.backOff(now, failures), err
}

// Lose takes a lease back from an agent that went silent. A loss is not a
// failure: it has its own counter and its own limit, and waits for nothing but the
// time that a person set meanwhile.
func (j Job) Lose(now time.Time, reason string) (Decision, error) {
	losses := j.LostCount + 1
	to, kind := Ready, eventlog.JobLost
	if losses > j.MaxLost {
		to, kind = Failed, eventlog.JobFailed
	}
	d, err := j.decide(ByLoss, to, kind)
	d.After.LostCount = losses
	d.Payload["reason"] = reason
	if to == Failed {
		d.After.LastError = "Lost " + reason
		return d, err
	}
	return d.claimable(now, false), err
}

// backOff fills in what a waiting decision waits for.
func (d Decision) backOff(now time.Time, failures int) Decision {
	if d.After.Status != Waiting {
		return d
	}
	until := now.Add(Backoff(d.Before.RetryBackoffSeconds, failures))
	d.After.WaitReason, d.After.NotBefore = WaitRetryBackoff, &until
	return d
}

// Backoff is the wait after the given failure (1 is the first): the base in
// seconds, doubled by each failure, at most a day, spread by a fifth either way
// so that jobs that failed together do not return together.
func Backoff(baseSeconds, failures int) time.Duration {
	wait := time.Duration(baseSeconds) * time.Second
	for range failures - 1 {
		if wait >= maxBackoff {
			break
		}
		wait *= 2
	}
	wait = min(wait, maxBackoff)
	spread := 1 + backoffJitter*(2*rand.Float64()-1)
	return min(time.Duration(float64(wait)*spread), maxBackoff)
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
