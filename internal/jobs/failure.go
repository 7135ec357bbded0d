package jobs

import (
	"slices"
	"time"
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
