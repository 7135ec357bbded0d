package jobs

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// UndoFor is how long an act of a person can be undone: the ten seconds that pages
// offer it for, and a minute for slow networks.
const UndoFor = 70 * time.Second

// undoneBy are the acts that can be undone, by the events that record them.
var undoneBy = map[eventlog.Type]Trigger{
	eventlog.JobApproved: ByApprove, eventlog.JobRejected: ByReject, eventlog.JobMerged: ByMerge, eventlog.JobMergeFailed: ByMergeFail,
	eventlog.JobCancelled: ByCancel, eventlog.JobArchived: ByArchive, eventlog.JobRetried: ByRetry, eventlog.JobBlocked: ByBlock,
	eventlog.JobUnblocked: ByUnblock, eventlog.JobPaused: ByPause, eventlog.JobResumed: ByResume, eventlog.JobCompleted: ByFinish,
}

// Undoable reports whether what a trigger does to a job that nobody holds can be undone.
func (t Trigger) Undoable() bool {
	for _, by := range undoneBy {
		if by == t {
			return true
		}
	}
	return false
}

// lookedAt is how many of a job's newest events are looked at for the one that changed
// its row last: few others are written without one.
const lookedAt = 20

// Act is what changed a job's row last.
type Act struct {
	eventlog.Event
	contents map[string]json.RawMessage // of its changes
	// edited is set where the job was edited in the same transaction: a retry with changes is one act.
	edited bool
}

// LastActTx returns the act that changed a job's row last.
func LastActTx(ctx context.Context, tx db.Tx, workspace ids.ID, j Job) (act Act, err error) {
	list, err := eventlog.OfJobTx(ctx, tx, workspace, j.ID, 0, lookedAt)
	if err != nil {
		return Act{}, err
	}
	list = slices.DeleteFunc(list, func(e eventlog.Event) bool { return e.SavedAt == nil })
	if len(list) == 0 {
		return Act{}, nil
	}
	act.Event = list[0]
	act.edited = len(list) > 1 && list[1].Cursor.Beside(act.Cursor)
	var sums []string
	for _, c := range act.Changes {
		if c.OldSHA256 != "" {
			sums = append(sums, c.OldSHA256)
		}
	}
	act.contents, err = eventlog.ContentsTx(ctx, tx, workspace, sums)
	return act, err
}

// Undo puts the job back to what it was before an act, the last one that changed it. What was
// ready or waiting is claimable again unless something holds it. InvalidTransition where the
// act was another one, was long ago, edited the job too, or took it from an agent: a lease
// does not come back.
func (l Locked) Undo(act Act, dependencyOpen bool) (Decision, error) {
	refused := func(why string) (Decision, error) {
		return Decision{}, fault.New(fault.InvalidTransition, "%s %s. Nothing was undone.", l.Key, why).With("status", string(l.Status))
	}
	by, ok := undoneBy[act.Type]
	if !ok {
		return refused("has moved on")
	}
	if act.SavedAt == nil || l.Now.Sub(*act.SavedAt) > UndoFor {
		return refused("was changed too long ago")
	}
	if act.edited {
		return refused("was retried with changes, which cannot be undone together: cancel it, or edit it again")
	}
	was, err := l.before(act)
	if err != nil {
		return Decision{}, err
	}
	if was.Status.Leased() || !Allowed(was.Status, by, l.Status) {
		return refused("was taken from its agent, which cannot be undone")
	}
	return l.decide(ByUndo, was.Status, eventlog.JobUndone, func(d *Decision) {
		d.After.restore(was)
		d.Payload["undid"] = string(act.Type)
		if was.Status != Ready && was.Status != Waiting {
			return
		}
		d.readyOrWaiting(l.Now, dependencyOpen)
		switch {
		case was.WaitReason == WaitBudget:
			d.After.Status, d.After.WaitReason = Waiting, WaitBudget
		case was.WaitReason == WaitRetryBackoff && d.After.WaitReason == WaitNotBefore:
			d.After.WaitReason = WaitRetryBackoff
		}
	})
}

// before returns what a decision may change as it was before an act.
func (j Job) before(act Act) (Saved, error) {
	s := j.State()
	s.long = map[string]string{}
	for _, c := range act.Changes {
		if _, known := fieldAt[c.Field]; !known {
			continue
		}
		if err := s.take(eventlog.Change{Field: c.Field, New: c.Old, NewSHA256: c.OldSHA256}); err != nil {
			return Saved{}, err
		}
	}
	s, err := s.Fill(act.contents)
	return s.Saved, err
}

// restore gives the job the fields of a state.
func (j *Job) restore(s Saved) {
	j.Status, j.WaitReason, j.BlockedReason = s.Status, s.WaitReason, s.BlockedReason
	j.Question, j.Answer, j.Feedback = s.Question, s.Answer, s.Feedback
	j.ApprovedHead, j.MergedCommit, j.URL = s.ApprovedHead, s.MergedCommit, s.URL
	j.FailureKind, j.FailureCount, j.LostCount, j.LastError = s.FailureKind, s.FailureCount, s.LostCount, s.LastError
	j.ProgressPercent, j.CurrentStep = s.ProgressPercent, s.CurrentStep
	j.Result, j.NotBefore = s.Result, s.NotBefore
}
