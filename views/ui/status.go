package ui

// Status is one of the twelve states a job can be in, as it is written in the
// API: "in_review", not "In review".
type Status string

// The statuses, in the order of a job's life.
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

// What stands in the place of a status while an agent was asked and has not obeyed.
const (
	Pausing    Status = "pausing"
	Cancelling Status = "cancelling"
)

// becomes is the status that an agent was asked for; it lends its look.
var becomes = map[Status]Status{Pausing: Paused, Cancelling: Aborted}

// Statuses lists all twelve.
var Statuses = []Status{
	Waiting, Ready, Assigned, Running, Paused, Blocked,
	InReview, Approved, Completed, Failed, Aborted, Archived,
}

var statusWords = map[Status]string{
	Waiting: "Waiting", Ready: "Ready", Assigned: "Assigned", Running: "Running",
	Paused: "Paused", Blocked: "Blocked", InReview: "In review", Approved: "Approved",
	Completed: "Completed", Failed: "Failed", Aborted: "Aborted", Archived: "Archived",
	Pausing: "Pausing…", Cancelling: "Cancelling…",
}

// Word is the status as people read it: "In review". An unknown status is
// shown as it is.
func (s Status) Word() string {
	if w, ok := statusWords[s]; ok {
		return w
	}
	return Clean(string(s))
}

// Class is the CSS class that gives the status its hue.
func (s Status) Class() string { return "st st-" + s.symbol() }

// Tone is how loud a piece of text or a note is.
type Tone string

// The tones. Plain is the zero value.
const (
	Plain Tone = ""
	OK    Tone = "ok"
	Warn  Tone = "warn" // look here soon
	Bad   Tone = "bad"  // lost or refused
	Info  Tone = "info"
)
