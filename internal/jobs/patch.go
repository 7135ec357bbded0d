package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/tenancy"
)

// claimRaces is how often a change of a ready job starts again because a claim
// is taking the job at that very moment. One claim ends in milliseconds.
const claimRaces = 5

// ChangeTx is a transaction that decides on a job: it locks, decides, saves.
type ChangeTx func(tx db.Tx) (Job, error)

// Change runs a change of one job, again where a claim got in its way, and
// wakes whoever waits for what it changed.
func (s *Service) Change(ctx context.Context, who tenancy.Principal, change ChangeTx) (Job, error) {
	var job Job
	var err error
	for range claimRaces {
		err = s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) (err error) {
			job, err = change(tx)
			return err
		})
		if !db.IsLocked(err) {
			break
		}
	}
	if err == nil {
		s.wake.Publish(Topics(who.Workspace, job)...)
	}
	return job, err
}

// Patch edits a job. VersionConflict, with the current job as the detail "job",
// where it was changed since the editor's version; InvalidTransition where what
// the job needs is to change while an agent works on it; Validation.
func (s *Service) Patch(ctx context.Context, who tenancy.Principal, keyOrID string, p Patch) (Job, error) {
	if err := p.check(); err != nil {
		return Job{}, err
	}
	return s.Change(ctx, who, func(tx db.Tx) (Job, error) {
		locked, err := LockTx(ctx, tx, who.Workspace, keyOrID)
		if err != nil {
			return Job{}, err
		}
		if err := locked.CheckVersion(&p.Version); err != nil {
			return Job{}, err
		}
		if err := WithdrawTx(ctx, tx, who.Workspace, locked); err != nil {
			return Job{}, err
		}
		d, err := locked.edit(p)
		if err != nil {
			return Job{}, err
		}
		if d.After.LaneID, err = internTx(ctx, tx, who.Workspace, d.After.Needs()); err != nil {
			return Job{}, err
		}
		if err := saveText(ctx, tx, who, d); err != nil {
			return Job{}, err
		}
		return SaveTx(ctx, tx, who, d)
	})
}

// CheckVersion refuses a change made on another version than the job's; nil
// checks nothing.
func (j Job) CheckVersion(version *int) error {
	if version == nil || *version == j.Version {
		return nil
	}
	return fault.New(fault.VersionConflict, "%s was changed since you opened it. Look at it again.", j.Key).With("job", j)
}

// edit is the decision that a patch asks for.
func (l Locked) edit(p Patch) (Decision, error) {
	after := l.Job
	if p.Title != nil {
		after.Title = strings.TrimSpace(*p.Title)
	}
	after.Body = orDefault(p.Body, after.Body)
	after.Phase = orDefault(p.Phase, after.Phase)
	after.Priority = orDefault(p.Priority, after.Priority)
	after.Acceptance = orEmpty(orDefault(p.Acceptance, after.Acceptance))
	after.Tags = set(orDefault(p.Tags, after.Tags))
	after.Capabilities = set(orDefault(p.Capabilities, after.Capabilities))
	after.Factory = orDefault(p.Factory, after.Factory)
	after.Repo = orDefault(p.Repo, after.Repo)
	after.EstimatedComplexity = orDefault(p.EstimatedComplexity, after.EstimatedComplexity)
	if p.EstimatedMinutes != nil {
		after.EstimatedMinutes = p.EstimatedMinutes
	}
	if l.Status.Leased() && string(after.Needs().digest()) != string(l.Needs().digest()) {
		return Decision{}, fault.New(fault.InvalidTransition,
			"%s is %s; what it needs can change once nobody works on it.", l.Key, l.Status).With("status", string(l.Status))
	}
	d := Decision{Before: l.Job, After: after, Type: eventlog.JobEdited, Payload: map[string]any{}}
	return d.reschedule(p.NotBefore, l.Now), nil
}

// reschedule moves a job that nobody works on to its new time.
func (d Decision) reschedule(at *time.Time, now time.Time) Decision {
	if at == nil {
		return d
	}
	d.After.NotBefore = at
	timed := d.After.Status == Ready ||
		d.After.Status == Waiting && (d.After.WaitReason == WaitNotBefore || d.After.WaitReason == WaitRetryBackoff)
	if timed {
		return d.claimable(now, false)
	}
	return d
}

func saveText(ctx context.Context, tx db.Tx, who tenancy.Principal, d Decision) error {
	if d.Before.Body == d.After.Body && equal(d.Before.Acceptance, d.After.Acceptance) {
		return nil
	}
	acceptance, err := json.Marshal(d.After.Acceptance)
	if err != nil {
		return fmt.Errorf("encode acceptance: %w", err)
	}
	err = q.JobTextUpdate(ctx, tx, dbsqlc.JobTextUpdateParams{
		WorkspaceID: who.Workspace, JobID: d.After.ID, Body: d.After.Body, Acceptance: acceptance})
	if err != nil {
		return fmt.Errorf("save text: %w", err)
	}
	return nil
}
