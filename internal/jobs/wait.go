package jobs

import (
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/eventlog"
)

// WaitReason is why a waiting job is not claimable yet.
type WaitReason string

// The wait reasons. The schema and openapi.yaml have the same list; handlers/reason has the
// words of each.
const (
	NoWait            WaitReason = ""
	WaitDependency    WaitReason = "dependency"
	WaitNotBefore     WaitReason = "not_before"
	WaitRetryBackoff  WaitReason = "retry_backoff"
	WaitBudget        WaitReason = "budget"
	WaitRepoBusy      WaitReason = "repo_busy"
	WaitReviewBacklog WaitReason = "review_backlog"
	WaitPathsBusy     WaitReason = "paths_busy"
)

// WaitKind is what a waiting job waits for.
type WaitKind string

// The kinds of waits.
const (
	ForJobs    WaitKind = "jobs"    // others have to be completed
	ForTime    WaitKind = "time"    // its NotBefore has to come
	ForBudget  WaitKind = "budget"  // a budget has to have enough for it
	ForProduct WaitKind = "product" // its product admits no more: its repo or a path of it is taken, or the review is full
)

// waits are the wait reasons in the order of docs/concepts.md, each with its kind.
var waits = []struct {
	reason WaitReason
	kind   WaitKind
}{
	{WaitDependency, ForJobs},
	{WaitNotBefore, ForTime},
	{WaitRetryBackoff, ForTime},
	{WaitBudget, ForBudget},
	{WaitRepoBusy, ForProduct},
	{WaitReviewBacklog, ForProduct},
	{WaitPathsBusy, ForProduct},
}

// Kind returns what a job waits for, "" for NoWait.
func (w WaitReason) Kind() WaitKind {
	for _, row := range waits {
		if row.reason == w {
			return row.kind
		}
	}
	return ""
}

// WaitReasons returns the reasons of the kinds, all of them where none is named.
func WaitReasons(kinds ...WaitKind) (list []WaitReason) {
	for _, row := range waits {
		if len(kinds) == 0 || slices.Contains(kinds, row.kind) {
			list = append(list, row.reason)
		}
	}
	return list
}

// isTimed reports whether the clock has a say in whether the job may be claimed.
func (j Job) isTimed() bool { return j.NotBefore != nil }

// readyOrWaiting makes the job ready, or waiting where something still holds it: an open
// dependency first, then a time.
func (d *Decision) readyOrWaiting(now time.Time, dependencyOpen bool) {
	switch {
	case dependencyOpen:
		d.After.Status, d.After.WaitReason = Waiting, WaitDependency
	case d.After.NotBefore != nil && d.After.NotBefore.After(now):
		d.After.Status, d.After.WaitReason = Waiting, WaitNotBefore
	default:
		d.After.Status, d.After.WaitReason = Ready, NoWait
	}
}

// readyOrWaiting returns Decision.readyOrWaiting as a change of decide.
func readyOrWaiting(now time.Time, dependencyOpen bool) func(*Decision) {
	return func(d *Decision) { d.readyOrWaiting(now, dependencyOpen) }
}

// Promote makes a waiting job claimable once nothing holds it any more, or says
// what it waits for now where that has changed. The second result is false where
// it waits for the same as before.
func (l Locked) Promote(dependencyOpen bool) (Decision, bool) {
	d, err := l.decide(ByPromote, Ready, eventlog.JobPromoted, readyOrWaiting(l.Now, dependencyOpen))
	if err != nil {
		return Decision{}, false
	}
	switch {
	case d.After.Status == Ready:
		d.After.NotBefore = nil
	case d.After.WaitReason == l.WaitReason, d.After.WaitReason == WaitNotBefore && l.WaitReason == WaitRetryBackoff:
		return Decision{}, false
	default:
		d.Type = eventlog.JobHeld
	}
	return d, true
}

// Hold keeps a ready job from being claimed, for the reason.
func (j Job) Hold(reason WaitReason) (Decision, error) {
	return j.decide(ByHold, Waiting, eventlog.JobHeld, func(d *Decision) {
		d.After.WaitReason = reason
	})
}

// waitFor returns the decision with a job that would become ready put back to waiting.
// The time that it waited for is over.
func (d Decision) waitFor(reason WaitReason) Decision {
	d.After.Status, d.After.WaitReason = Waiting, reason
	d.After.NotBefore = nil
	if d.Before.Status == Ready {
		d.By = ByHold
	}
	if d.Type == eventlog.JobPromoted {
		d.Type = eventlog.JobHeld
	}
	return d
}

// changesNothing reports whether a promotion leaves the job waiting for the same reason.
func (d Decision) changesNothing() bool {
	return d.Type == eventlog.JobHeld && d.Before.Status == Waiting && d.After.WaitReason == d.Before.WaitReason
}

// reschedule decides again whether a job that nobody works on may be ready, where it
// has a new time, or its repo, its files or its urgency are others.
func (d Decision) reschedule(timed bool, now time.Time) Decision {
	b, kind := d.Before, d.Before.WaitReason.Kind()
	again := kind == ForProduct && (b.Repo != d.After.Repo || b.Priority != d.After.Priority || !slices.Equal(b.Files, d.After.Files)) ||
		timed && (kind == ForProduct || kind == ForTime || b.Status == Ready)
	if !again {
		return d
	}
	d.readyOrWaiting(now, false)
	d.By = ByPromote
	if d.After.Status == Waiting {
		d.By = ByHold
	}
	return d
}
