package jobs

import (
	"slices"

	"github.com/fleetboard/fleetboard/internal/jobs/status"
)

// Status is where a job stands.
type Status = status.Status

// The statuses.
const (
	Waiting   = status.Waiting
	Ready     = status.Ready
	Assigned  = status.Assigned
	Running   = status.Running
	Paused    = status.Paused
	Blocked   = status.Blocked
	InReview  = status.InReview
	Approved  = status.Approved
	Completed = status.Completed
	Failed    = status.Failed
	Aborted   = status.Aborted
	Archived  = status.Archived
)

// Statuses lists all of them in the order of a job's life.
var Statuses = status.All

// Trigger is what changes a status.
type Trigger string

// The triggers. Those of people are the verbs of the API; those of agents and
// of the server are named after what happened.
const (
	ByCreate    Trigger = "create"
	ByPromote   Trigger = "promote"
	ByHold      Trigger = "hold"
	ByBlock     Trigger = "block"
	ByUnblock   Trigger = "unblock"
	ByAnswer    Trigger = "answer"
	ByPause     Trigger = "pause"
	ByResume    Trigger = "resume"
	ByClaim     Trigger = "claim"
	ByStart     Trigger = "start"
	ByRelease   Trigger = "release"
	ByLoss      Trigger = "lose"
	ByFailure   Trigger = "fail"
	ByTimeout   Trigger = "time_out"
	ByCycle     Trigger = "dependency_cycle"
	ByAsk       Trigger = "ask"
	ByComplete  Trigger = "complete"
	ByFinish    Trigger = "finish" // a person completes what nobody holds
	ByApprove   Trigger = "approve"
	ByReject    Trigger = "reject"
	ByMerge     Trigger = "merge"
	ByMergeFail Trigger = "merge_fail"
	ByCancel    Trigger = "cancel"
	ByRetry     Trigger = "retry"
	ByArchive   Trigger = "archive"
	ByUndo      Trigger = "undo"
)

// participles say what a trigger does to a job, where its name with -ed does not.
var participles = map[Trigger]string{
	ByPromote: "made ready", ByHold: "held", ByClaim: "claimed", ByLoss: "lost", ByFailure: "failed", ByTimeout: "timed out",
	ByCycle: "failed for a dependency cycle", ByAsk: "parked with a question", ByComplete: "handed in", ByFinish: "completed by a person",
	ByMerge: "merged", ByMergeFail: "sent back from its merge", ByCancel: "cancelled", ByRetry: "retried", ByPause: "paused",
	ByResume: "resumed", ByRelease: "released", ByApprove: "approved", ByArchive: "archived", ByCreate: "created",
	ByUndo: "undone",
}

// participle returns what the trigger does to a job: paused, sent back from its merge.
func (t Trigger) participle() string {
	if p, irregular := participles[t]; irregular {
		return p
	}
	return string(t) + "ed"
}

// edges are the rows of the table in docs/concepts.md: a trigger leads from each of its
// from statuses to one of its to statuses.
type edges struct {
	from, to []Status
}

var table = map[Trigger][]edges{
	ByCreate:    {{from: []Status{""}, to: []Status{Waiting, Ready, Blocked}}},
	ByPromote:   {{from: []Status{Waiting}, to: []Status{Ready}}},
	ByHold:      {{from: []Status{Ready}, to: []Status{Waiting}}},
	ByBlock:     {{from: []Status{Waiting, Ready, Paused}, to: []Status{Blocked}}},
	ByUnblock:   {{from: []Status{Blocked}, to: []Status{Waiting, Ready}}},
	ByPause:     {{from: []Status{Waiting, Ready, Assigned, Running}, to: []Status{Paused}}},
	ByAnswer:    {{from: []Status{Blocked}, to: []Status{Waiting, Ready}}},
	ByResume:    {{from: []Status{Paused}, to: []Status{Waiting, Ready}}},
	ByClaim:     {{from: []Status{Ready}, to: []Status{Assigned}}},
	ByStart:     {{from: []Status{Assigned}, to: []Status{Running}}},
	ByRelease:   {{from: []Status{Assigned, Running}, to: []Status{Ready, Waiting}}},
	ByLoss:      {{from: []Status{Assigned, Running}, to: []Status{Ready, Waiting, Failed}}},
	ByFailure:   {{from: []Status{Assigned, Running}, to: []Status{Ready, Waiting, Failed}}},
	ByTimeout:   {{from: []Status{Assigned, Running}, to: []Status{Ready, Waiting, Failed}}},
	ByCycle:     {{from: []Status{Waiting}, to: []Status{Failed}}},
	ByAsk:       {{from: []Status{Assigned, Running}, to: []Status{Blocked}}},
	ByComplete:  {{from: []Status{Assigned, Running}, to: []Status{InReview, Completed}}},
	ByFinish:    {{from: []Status{Waiting, Ready, Paused, Blocked}, to: []Status{Completed}}},
	ByApprove:   {{from: []Status{InReview}, to: []Status{Approved}}},
	ByReject:    {{from: []Status{InReview}, to: []Status{Ready, Waiting}}},
	ByMerge:     {{from: []Status{Approved}, to: []Status{Completed}}},
	ByMergeFail: {{from: []Status{Approved}, to: []Status{InReview}}},
	ByCancel: {{from: []Status{Waiting, Ready, Assigned, Running, Paused, Blocked, InReview, Approved},
		to: []Status{Aborted}}},
	ByRetry:   {{from: []Status{Failed, Aborted, Completed}, to: []Status{Ready, Waiting}}},
	ByArchive: {{from: []Status{Completed, Failed, Aborted}, to: []Status{Archived}}},
	// The acts that can be undone, the other way round; none gives a lease back.
	ByUndo: {
		{from: []Status{Waiting, Ready}, to: []Status{Paused, Blocked, InReview, Completed, Failed, Aborted}},
		{from: []Status{Paused}, to: []Status{Waiting, Ready}},
		{from: []Status{Blocked}, to: []Status{Waiting, Ready, Paused}},
		{from: []Status{InReview}, to: []Status{Approved}},
		{from: []Status{Approved}, to: []Status{InReview}},
		{from: []Status{Completed}, to: []Status{Approved, Waiting, Ready, Paused, Blocked}},
		{from: []Status{Aborted}, to: []Status{Waiting, Ready, Paused, Blocked, InReview, Approved}},
		{from: []Status{Archived}, to: []Status{Completed, Failed, Aborted}},
	},
}

// Allowed reports whether the trigger may lead from one status to the other.
// Every edge that the table does not name is refused.
func Allowed(from Status, by Trigger, to Status) bool {
	for _, e := range table[by] {
		if slices.Contains(e.from, from) && slices.Contains(e.to, to) {
			return true
		}
	}
	return false
}

// Can reports whether the trigger leads anywhere from that status.
func Can(from Status, by Trigger) bool {
	for _, e := range table[by] {
		if slices.Contains(e.from, from) {
			return true
		}
	}
	return false
}
