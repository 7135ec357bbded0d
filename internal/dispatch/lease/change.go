package lease

import (
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/metrics"
)

// Change is a job before and after something was done to it.
type Change struct {
	Before, After jobs.Job
}

// Happened is false for the zero change.
func (c Change) Happened() bool { return c.After.Key != "" }

// FreesSeat reports whether a lease ended with the change.
func (c Change) FreesSeat() bool { return c.Before.Lease != nil && c.After.Lease == nil }

// freesRepo reports whether the next jobs of the repo may come: the job was one of its repo
// that kept others from it, and is no more. One that waits for paths keeps those from them that
// came later.
func (c Change) freesRepo() bool {
	if c.Before.Repo == "" || c.Before.Serialise == "" || c.Before.Serialise == jobs.SerialiseNone {
		return false
	}
	kept := occupies(c.Before.Status) || c.Before.WaitReason == jobs.WaitPathsBusy && c.After.WaitReason != jobs.WaitPathsBusy
	return kept && !occupies(c.After.Status)
}

// freesBudget reports whether what a lease had reserved of budgets came free.
func (c Change) freesBudget() bool { return c.FreesSeat() && c.Before.Lease.Reserved }

// freesReview reports whether the product's review queue has a place more.
func (c Change) freesReview() bool {
	return c.Before.ReviewLimit != nil && c.Before.Status == jobs.InReview && c.After.Status != jobs.InReview
}

// opensGates reports whether the job has ended without being completed. Its parents may
// go on all the same; those of a completed one do so with the completion.
func (c Change) opensGates() bool {
	return !c.Before.Status.Finished() && c.After.Status.Finished() && c.After.Status != jobs.Completed
}

// promotes reports whether the change made the job claimable for its dependencies.
func (c Change) promotes() bool {
	return c.Before.WaitReason == jobs.WaitDependency && c.After.Status == jobs.Ready
}

// occupies reports whether a job in this status keeps its repo from others.
func occupies(s jobs.Status) bool { return s == jobs.Ready || s.Leased() }

// FreedSeats returns the factories of which changes freed seats.
func FreedSeats(list ...Change) []ids.ID {
	var factories []ids.ID
	for _, c := range list {
		if c.FreesSeat() {
			factories = append(factories, c.Before.Lease.FactoryID)
		}
	}
	return factories
}

// count counts a change that was committed.
func (c Change) count() {
	if c.FreesSeat() {
		metrics.LeasesEnded.Inc()
	}
	if c.Before.Status.Finished() || !c.After.Status.Finished() {
		return
	}
	metrics.JobsEnded.Of(string(c.After.Status)).Inc()
	if c.After.Status == jobs.Failed && (c.After.FailureCount > c.After.MaxRetries || c.After.LostCount > c.After.MaxLost) {
		metrics.Exhausted.Inc()
	}
}
