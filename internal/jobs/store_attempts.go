package jobs

import (
	"context"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
)

func agentAttemptsTx(ctx context.Context, tx db.Tx, workspace, agent ids.ID, outcome string, before turn, n int) ([]AgentAttempt, error) {
	rows, err := q.AttemptsOfAgent(ctx, tx, dbsqlc.AttemptsOfAgentParams{WorkspaceID: workspace, AgentID: &agent, Outcome: outcome,
		BeforeAt: before.at, BeforeJob: before.job, BeforeEpoch: before.epoch, MaxRows: int32(n)}) //nolint:gosec // a page
	if err != nil {
		return nil, fmt.Errorf("list attempts of an agent: %w", err)
	}
	list := make([]AgentAttempt, 0, len(rows))
	for _, r := range rows {
		a := AgentAttempt{Attempt: attemptFrom(r.Attempt), JobID: r.Attempt.JobID, Key: r.JobKey}
		if r.LeaseEpoch != nil {
			a.ProgressPercent, a.CurrentStep, a.Checkpoint = wide(r.LeaseProgressPercent), r.LeaseCurrentStep, r.LeaseCheckpoint
		}
		list = append(list, a)
	}
	return list, nil
}
