package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

// find gives the id behind a key or an id, or NotFound.
func find(ctx context.Context, tx db.Tx, workspace ids.ID, keyOrID string) (ids.ID, error) {
	if id, ok := ids.Parse(keyOrID); ok {
		return id, nil
	}
	id, err := q.JobID(ctx, tx, workspace, keyOrID)
	if errors.Is(err, pgx.ErrNoRows) {
		return ids.Nil, notFound(keyOrID)
	}
	return id, err
}

func notFound(keyOrID string) error {
	return fault.New(fault.NotFound, "There is no job %s in this workspace.", cut(keyOrID, 64))
}

// LoadTx reads a job, by key or id, without a lock. NotFound where the
// workspace has none.
func LoadTx(ctx context.Context, tx db.Tx, workspace ids.ID, keyOrID string) (Job, error) {
	id, err := find(ctx, tx, workspace, keyOrID)
	if err != nil {
		return Job{}, err
	}
	row, err := q.JobFullByID(ctx, tx, workspace, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return Job{}, notFound(keyOrID)
	}
	if err != nil {
		return Job{}, err
	}
	return fromRow(row)
}

// titlesTx reads the titles of jobs by id; unknown ids are left out.
func titlesTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []ids.ID) (map[ids.ID]string, error) {
	rows, err := q.JobTitles(ctx, tx, workspace, list)
	if err != nil {
		return nil, err
	}
	titles := make(map[ids.ID]string, len(rows))
	for _, row := range rows {
		titles[row.ID] = row.Title
	}
	return titles, nil
}

// LoadManyTx reads jobs by id, in no particular order; unknown ids are left out.
func LoadManyTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []ids.ID) ([]Job, error) {
	rows, err := q.JobFullByIDs(ctx, tx, list, workspace)
	if err != nil {
		return nil, err
	}
	return fromRows(rows)
}

// FindManyTx reads jobs by key or id, in no particular order; what names none is
// left out.
func FindManyTx(ctx context.Context, tx db.Tx, workspace ids.ID, keysOrIDs []string) ([]Job, error) {
	if len(keysOrIDs) == 0 {
		return nil, nil
	}
	list, keys := ids.ParseAll(keysOrIDs)
	rows, err := q.JobIDs(ctx, tx, workspace, keys, list)
	if err != nil {
		return nil, err
	}
	found := make([]ids.ID, len(rows))
	for i, r := range rows {
		found[i] = r.ID
	}
	return LoadManyTx(ctx, tx, workspace, found)
}

// Locked is a job that no other transaction can change until this one ends. What is decided
// about it by the clock is decided here.
type Locked struct {
	Job
	// Now is the database's clock after the lock was had.
	Now time.Time
}

// LockTx locks a job, by key or id, and reads it as it is then. It waits for
// whoever holds the lock. Locks are taken in this order: job, then lease.
func LockTx(ctx context.Context, tx db.Tx, workspace ids.ID, keyOrID string) (Locked, error) {
	id, err := find(ctx, tx, workspace, keyOrID)
	if err != nil {
		return Locked{}, err
	}
	lock, err := q.JobLock(ctx, tx, workspace, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return Locked{}, notFound(keyOrID)
	}
	if err != nil {
		return Locked{}, err
	}
	// A second statement: the first one's snapshot is from before the wait.
	job, err := LoadTx(ctx, tx, workspace, id.String())
	return Locked{Job: job, Now: lock.Now}, err
}

// WithdrawTx takes a locked ready job out of reach of the claims, until the
// transaction ends. A claim that is taking it right now wins: then the error is
// one that db.IsLocked recognizes, and the whole transaction is to be run again.
func WithdrawTx(ctx context.Context, tx db.Tx, workspace ids.ID, j Locked) error {
	if j.Status != Ready {
		return nil
	}
	_, err := q.JobLockReady(ctx, tx, workspace, j.ID)
	return err
}

// DependencyOpenTx reports whether a job still waits for another one.
func DependencyOpenTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) (bool, error) {
	return q.JobDependencyOpen(ctx, tx, workspace, job)
}

// Locks are jobs that no other transaction can change until this one ends, by id,
// with the database's clock after each lock was had.
type Locks map[ids.ID]time.Time

// LockManyTx locks, in one statement, those of the jobs, by key or id, that exist and
// that nobody else has locked; it never waits. ReadLockedTx reads them.
func LockManyTx(ctx context.Context, tx db.Tx, workspace ids.ID, called []string) (Locks, error) {
	list, keys := ids.ParseAll(called)
	rows, err := q.JobsLock(ctx, tx, workspace, list, keys)
	if err != nil {
		return nil, err
	}
	locks := make(Locks, len(rows))
	for _, row := range rows {
		locks[row.ID] = row.Now
	}
	return locks, nil
}

// ReadLockedTx reads, in one statement, locked jobs as they are since, by key and by
// id. It has to be a second statement: the first one's snapshot is from before the
// locks.
func ReadLockedTx(ctx context.Context, tx db.Tx, workspace ids.ID, locks Locks) (map[string]Locked, error) {
	loaded, err := LoadManyTx(ctx, tx, workspace, slices.Collect(maps.Keys(locks)))
	if err != nil {
		return nil, err
	}
	result := make(map[string]Locked, 2*len(loaded))
	for _, j := range loaded {
		locked := Locked{Job: j, Now: locks[j.ID]}
		result[j.Key], result[j.ID.String()] = locked, locked
	}
	return result, nil
}

func fromRows(rows []dbsqlc.JobFull) ([]Job, error) {
	list := make([]Job, 0, len(rows))
	for _, r := range rows {
		j, err := fromRow(r)
		if err != nil {
			return nil, err
		}
		list = append(list, j)
	}
	return list, nil
}

func fromRow(r dbsqlc.JobFull) (Job, error) {
	j := Job{
		ID: r.ID, Key: r.Key, Spec: Spec{Title: r.Title, Body: r.Body,
			Repo: r.Repo, Phase: r.Phase, Priority: r.Priority, Capabilities: r.Capabilities, Factory: r.Factory,
			DependsOn: r.DependsOn, Tags: r.Tags, Files: r.Files,
			MaxRetries: r.MaxRetries, ReviewOverride: r.ReviewRequired,
			WaitsForChildren:    r.WaitsForChildren,
			EstimatedComplexity: r.EstimatedComplexity, EstimatedMinutes: r.EstimatedMinutes, TokenBudget: r.TokenBudget,
			BudgetNanos: r.BudgetNanos, Complexity: r.Complexity, Tier: Tier(r.Tier),
			NotBefore: r.NotBefore,
		}, Kind: r.Kind, ProductID: r.ProductID, Product: r.Product,
		LaneID: r.LaneID, InputContext: r.InputContext, SecretKeys: r.SecretKeys,
		Status: Status(r.Status), WaitReason: WaitReason(r.WaitReason), BlockedReason: r.BlockedReason,
		Question: r.Question, Answer: r.Answer, StatusBy: tenancy.ParseActor(r.StatusByKind, r.StatusByID, r.StatusBy),
		StatusAt: r.StatusAt,
		Epoch:    r.Epoch, Attempts: r.Attempts, FailureCount: r.FailureCount, LostCount: r.LostCount,
		MaxLost: r.MaxLost, RetryBackoffSeconds: r.RetryBackoffSeconds,
		LastError: r.LastError, Feedback: r.Feedback, ProgressPercent: r.ProgressPercent, CurrentStep: r.CurrentStep,
		Checkpoint: r.Checkpoint, Result: r.Result, ReviewRequired: r.ReviewNeeded,
		ProductPaused: r.ProductPaused, Serialise: Serialise(r.Serialise), ReviewLimit: r.ReviewLimit, VerifyMode: r.VerifyMode,
		ApprovesUnverified: r.ApprovesUnverified,
		Verdict:            r.Verdict, Round: r.VerifyRound, Verifies: r.Verifies, CommentsOpen: r.CommentsOpen,
		FailureKind: FailureKind(r.FailureKind), FilesTouched: r.FilesTouched, ApprovedHead: r.ApprovedHead,
		MergedCommit: r.MergedCommit, URL: r.Url, Version: r.Version, CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt,
		UpdatedAt: r.UpdatedAt, ReadyAt: r.ReadyAt, AssignedAt: r.AssignedAt, StartedAt: r.StartedAt,
		CompletedAt: r.CompletedAt, FailedAt: r.FailedAt,
	}
	if r.IdempotencyKey != nil {
		j.IdempotencyKey = *r.IdempotencyKey
	}
	var err error
	if j.ProductModels, err = ParseModels(r.ProductModels); err != nil {
		return Job{}, fmt.Errorf("models of the product of job %s: %w", r.ID, err)
	}
	if r.CarriedOutBy != nil {
		if err := json.Unmarshal(r.CarriedOutBy, &j.CarriedOutBy); err != nil {
			return Job{}, fmt.Errorf("who carried out the status of job %s: %w", r.ID, err)
		}
	}
	if err := json.Unmarshal(r.Acceptance, &j.Acceptance); err != nil {
		return Job{}, fmt.Errorf("acceptance of job %s: %w", r.ID, err)
	}
	if err := json.Unmarshal(r.AcceptanceMet, &j.AcceptanceMet); err != nil {
		return Job{}, fmt.Errorf("checkmarks of job %s: %w", r.ID, err)
	}
	j.AcceptanceMet = checkmarks(j.AcceptanceMet, len(j.Acceptance))
	j.takeLease(r)
	return j.asSystem(), nil
}

// checkmarks returns the list as long as the criteria: what is not there is not checked.
func checkmarks(met []bool, criteria int) []bool {
	list := make([]bool, criteria)
	copy(list, met)
	return list
}

// takeLease adds the lease that the row has, and what it knows of the work.
func (j *Job) takeLease(r dbsqlc.JobFull) {
	if r.LeaseEpoch == nil {
		return
	}
	j.Lease = &Lease{
		AgentID: *r.LeaseAgentID, Agent: r.LeaseAgent, FactoryID: *r.LeaseFactoryID, Factory: r.LeaseFactory,
		Epoch: *r.LeaseEpoch, SessionKey: *r.LeaseSessionKey, TTLSeconds: *r.LeaseTtlSeconds,
		ClaimedAt: *r.LeaseClaimedAt, ExpiresAt: *r.LeaseExpiresAt, Directive: *r.LeaseDirective,
		DirectiveReason: *r.LeaseDirectiveReason,
		DirectiveBy:     tenancy.ParseActor(*r.LeaseDirectiveByKind, *r.LeaseDirectiveByID, *r.LeaseDirectiveBy),
		GraceEndsAt:     r.LeaseGraceEndsAt,
		WarnedAt:        r.LeaseWarnedAt,
		Reserved:        r.LeaseReserved,
	}
	j.ProgressPercent, j.CurrentStep, j.ProgressAt = r.LeaseProgressPercent, *r.LeaseCurrentStep, r.LeaseProgressAt
	if r.LeaseCheckpoint != nil {
		j.Checkpoint = r.LeaseCheckpoint
	}
}

// dependentsTx gives the keys of jobs that wait for a job or have it as their parent.
func dependentsTx(ctx context.Context, tx db.Tx, workspace, job ids.ID, limit int) ([]string, error) {
	return q.JobHolders(ctx, tx, workspace, job, limit)
}

// purgeTx deletes a locked job that Purge may delete. It gives the id of the event
// that stands for the job's events, and theirs.
func purgeTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID) (sum int64, removed []int64, err error) {
	by := who.Actor()
	row, err := q.JobPurge(ctx, tx, dbsqlc.JobPurgeParams{WorkspaceID: who.Workspace, JobID: job,
		Actor: by.Name, ActorKind: string(by.Kind), ActorID: by.ID})
	if err != nil {
		return 0, nil, err
	}
	return row.Sum, row.Removed, nil
}
