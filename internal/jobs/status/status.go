// Package status is the list of the statuses of a job, for all who name one; package jobs
// says which may follow one another.
package status

import (
	"slices"
	"strings"
)

// Status is where a job stands.
type Status string

// The statuses; docs/concepts.md says what each means.
const (
	Waiting   Status = "waiting"
	Ready     Status = "ready"
	Assigned  Status = "assigned"
	Running   Status = "running"
	Paused    Status = "paused"
	Blocked   Status = "blocked"
	InReview  Status = "in_review"
	Approved  Status = "approved"
	Completed Status = "completed"
	Failed    Status = "failed"
	Aborted   Status = "aborted"
	Archived  Status = "archived"
)

// What pages show in place of a status while an agent has a directive and has not obeyed.
const (
	Pausing    Status = "pausing"
	Cancelling Status = "cancelling"
)

// All lists the statuses in the order of a job's life.
var All = []Status{Waiting, Ready, Assigned, Running, Paused, Blocked,
	InReview, Approved, Completed, Failed, Aborted, Archived}

// Leased reports whether a job in this status has a lease.
func (s Status) Leased() bool { return s == Assigned || s == Running }

// Finished reports whether the job's life has ended, unless somebody retries it.
func (s Status) Finished() bool {
	return s == Completed || s == Failed || s == Aborted || s == Archived
}

// Known reports whether a job can be in this status.
func (s Status) Known() bool { return slices.Contains(All, s) }

// Words returns the status within a sentence: "in review".
func (s Status) Words() string { return strings.ReplaceAll(string(s), "_", " ") }

// Word returns the status by itself: "In review", "Pausing…". An unknown one is shown as it is.
func (s Status) Word() string {
	text := s.Words()
	switch {
	case s == Pausing || s == Cancelling:
		text += "…"
	case !s.Known():
		return string(s)
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
