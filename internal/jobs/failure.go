package jobs

import (
	"slices"
	"time"

	"fleetboard/internal/signal"
)

// FailureKind says of which kind a failure is, for whoever decides what to do about
// it; "" where nothing failed.
type FailureKind string

// The kinds of failures. The schema has the same list.
const (
	FailedTimeout       FailureKind = "timeout"
	FailedBudget        FailureKind = "budget_exceeded"
	FailedCrash         FailureKind = "crash"
	FailedChecks        FailureKind = "checks_failed"
	FailedCapability    FailureKind = "capability_mismatch"
	FailedEngine        FailureKind = "engine_missing"
	FailedRateLimit     FailureKind = "rate_limited"
	FailedMergeConflict FailureKind = "merge_conflict"
	FailedClone         FailureKind = "clone_failed"
	FailedOther         FailureKind = "other"
)

// FailureKinds are all kinds of failures.
var FailureKinds = []FailureKind{FailedTimeout, FailedBudget, FailedCrash, FailedChecks, FailedCapability, FailedEngine,
	FailedRateLimit, FailedMergeConflict, FailedClone, FailedOther}

// Bounds of the wait that an agent asks for with FailedRateLimit.
const (
	MinRetryAfter = time.Second
	MaxRetryAfter = 24 * time.Hour
)

// FailureKindOf is the kind that a word names, FailedOther where it names none.
func FailureKindOf(word string) FailureKind {
	if kind := FailureKind(word); slices.Contains(FailureKinds, kind) {
		return kind
	}
	return FailedOther
}

// Limits of the retry backoff (docs/concepts.md).
const (
	maxBackoff    = MaxBackoffSeconds * time.Second
	backoffJitter = 0.2
)

// backOff fills in what a waiting decision waits for.
func (d *Decision) backOff(now time.Time, failures int) {
	if d.After.Status != Waiting {
		return
	}
	until := now.Add(Backoff(d.Before.RetryBackoffSeconds, failures))
	d.After.WaitReason, d.After.NotBefore = WaitRetryBackoff, &until
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
	return min(signal.Jitter(wait, backoffJitter), maxBackoff)
}
