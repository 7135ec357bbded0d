package attempts

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

var q = dbsqlc.New()

// OfJobTx reads the attempts on a job, newest first, at most 200.
func OfJobTx(ctx context.Context, tx db.Tx, workspace ids.ID, job jobs.Job) ([]Attempt, error) {
	rows, err := q.AttemptList(ctx, tx, workspace, job.ID)
	if err != nil {
		return nil, err
	}
	list := make([]Attempt, 0, len(rows))
	for _, r := range rows {
		list = append(list, fromRow(r).live(job))
	}
	return list, nil
}

// olderTx reads the attempts on a job before an epoch, newest first; 0 is the newest.
func olderTx(ctx context.Context, tx db.Tx, workspace ids.ID, job jobs.Job, before int64, rows int) ([]Record, error) {
	found, err := q.AttemptOlder(ctx, tx, workspace, job.ID, before, rows)
	if err != nil {
		return nil, err
	}
	list := make([]Record, 0, len(found))
	for _, r := range found {
		list = append(list, Record{Attempt: fromRow(r).live(job)})
	}
	return list, nil
}

// completeTx adds the stacks and the number of lines to attempts.
func completeTx(ctx context.Context, tx db.Tx, workspace, job ids.ID, list []Record) error {
	at := make(map[int64]*Record, len(list))
	epochs := make([]int64, len(list))
	for i := range list {
		at[list[i].Epoch], epochs[i] = &list[i], list[i].Epoch
	}
	counts, err := q.LogCountOfAttempts(ctx, tx, workspace, job, manyLines+1, epochs)
	if err != nil {
		return err
	}
	for _, c := range counts {
		a := at[c.Epoch]
		a.Lines, a.Capped = min(int(c.Lines), manyLines), c.Lines > manyLines
	}
	stacks, err := q.AttemptStacks(ctx, tx, workspace, job, epochs)
	if err != nil {
		return err
	}
	for _, s := range stacks {
		at[s.Epoch].Stack = s.Stack
	}
	return nil
}

func ofAgentTx(ctx context.Context, tx db.Tx, workspace, agent ids.ID, outcome string, before turn, n int) ([]OfAgent, error) {
	rows, err := q.AttemptsOfAgent(ctx, tx, dbsqlc.AttemptsOfAgentParams{WorkspaceID: workspace, AgentID: &agent, Outcome: outcome,
		BeforeAt: before.at, BeforeJob: before.job, BeforeEpoch: before.epoch, MaxRows: n})
	if err != nil {
		return nil, err
	}
	list := make([]OfAgent, 0, len(rows))
	for _, r := range rows {
		a := OfAgent{Attempt: fromRow(r.Attempt), JobID: r.Attempt.JobID, Key: r.JobKey}
		if r.LeaseEpoch != nil {
			a.ProgressPercent, a.CurrentStep, a.Checkpoint = r.LeaseProgressPercent, r.LeaseCurrentStep, r.LeaseCheckpoint
		}
		list = append(list, a)
	}
	return list, nil
}

func fromRow(r dbsqlc.Attempt) Attempt {
	return Attempt{
		Epoch: r.Epoch, Agent: r.Agent, Factory: r.Factory, Engine: r.Engine, Model: r.Model, ModelWhy: r.ModelWhy, Tier: r.Tier,
		SessionKey: r.SessionKey,
		ClaimedAt:  r.ClaimedAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt, Outcome: r.Outcome, Error: r.Error,
		ErrorKind: r.ErrorKind, ProgressPercent: r.ProgressPercent, CurrentStep: r.CurrentStep,
		Checkpoint: r.Checkpoint, Result: r.Result,
		Delivery: Delivery{State: DeliveryState(r.Delivery), Branch: r.DeliveryBranch, Commit: r.DeliveryCommit, Detail: r.DeliveryDetail,
			At: r.DeliveryAt},
	}
}
