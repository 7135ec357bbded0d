package jobs

import (
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/signal"
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
	FailedAuth          FailureKind = "auth"             // the host's key of a provider is not taken
	FailedBilling       FailureKind = "billing"          // the host's account has no money left
	FailedRefused       FailureKind = "refused"          // the model does not want to
	FailedContext       FailureKind = "context_overflow" // the work does not fit into the model's context
	FailedGarbage       FailureKind = "engine_garbage"   // the engine ended without a result that can be read
	FailedOther         FailureKind = "other"
)

// FailureKinds are all kinds of failures.
var FailureKinds = []FailureKind{FailedTimeout, FailedBudget, FailedCrash, FailedChecks, FailedCapability, FailedEngine,
	FailedRateLimit, FailedMergeConflict, FailedClone, FailedAuth, FailedBilling, FailedRefused, FailedContext, FailedGarbage, FailedOther}

// IsHosts reports whether a failure is the host's and not the job's: it costs the job nothing.
func (k FailureKind) IsHosts() bool {
	switch k {
	case FailedAuth, FailedBilling, FailedEngine, FailedRateLimit, FailedClone:
		return true
	}
	return false
}

// Bounds of the wait of a job that hosts give back one after the other.
const (
	minHostWait = 5 * time.Second
	maxHostWait = 10 * time.Minute
)

// HostWait returns how long a job waits that a host gives back, after as many hosts have done so
// before, without an attempt between that ended otherwise. The first wait is short, since
// another host may do better; a host that claims such a job again and again is slowed down.
func HostWait(before int) time.Duration {
	return signal.Jitter(signal.Backoff(minHostWait, maxHostWait, before+1), backoffJitter)
}

// Bounds of the wait that an agent requests with FailedRateLimit.
const (
	MinRetryAfter = time.Second
	MaxRetryAfter = 24 * time.Hour
)

// ParseFailureKind returns the kind that a word names, FailedOther where it names none.
func ParseFailureKind(word string) FailureKind {
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

// backOff sets the time and the reason for which a waiting job waits after failures.
func (d *Decision) backOff(now time.Time, failures int) {
	if d.After.Status != Waiting {
		return
	}
	d.After.WaitReason = WaitRetryBackoff
	d.After.NotBefore = new(now.Add(Backoff(d.Before.RetryBackoffSeconds, failures)))
}

// Backoff returns the wait after the given failure (1 is the first): the base in
// seconds, doubled by each failure, at most a day, spread by a fifth either way
// so that jobs that failed together do not return together.
func Backoff(baseSeconds, failures int) time.Duration {
	wait := signal.Backoff(time.Duration(baseSeconds)*time.Second, maxBackoff, max(failures, 1))
	return min(signal.Jitter(wait, backoffJitter), maxBackoff)
}
