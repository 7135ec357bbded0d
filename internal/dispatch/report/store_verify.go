package report

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/distinct"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/verdict"
)

// authorsTx reads who has worked on a job up to its present attempt, one for each model that they ran.
func authorsTx(ctx context.Context, tx db.Tx, workspace ids.ID, work jobs.Job) ([]distinct.Agent, error) {
	rows, err := q.JobVerifyAuthors(ctx, tx, workspace, work.ID, work.Epoch)
	authors := make([]distinct.Agent, 0, len(rows))
	for _, r := range rows {
		authors = append(authors, author(r.Agent, r.Model, r.Provider))
	}
	return authors, err
}

// recordVerifyTx writes what a verify job verifies.
func recordVerifyTx(ctx context.Context, tx db.Tx, workspace, verify ids.ID, work jobs.Job, said handedIn, rule distinct.Rule) error {
	acceptance, err := json.Marshal(work.Acceptance)
	if err != nil {
		return fmt.Errorf("encode acceptance: %w", err)
	}
	return q.JobVerifyInsert(ctx, tx, dbsqlc.JobVerifyInsertParams{WorkspaceID: workspace, VerifyJobID: verify, JobID: work.ID,
		Epoch: work.Epoch, Commit: said.Commit, Branch: said.Branch, Acceptance: acceptance, DiffBlob: said.Patch,
		DistinctBy: string(rule)})
}

// verifiedTx reads what a job verifies; false where nothing orders it any more.
func verifiedTx(ctx context.Context, tx db.Tx, workspace, verify ids.ID) (of verified, known bool, err error) {
	rows, err := q.JobVerifyOf(ctx, tx, workspace, verify)
	if err != nil || len(rows) == 0 || rows[0].JobID == nil {
		return of, false, err
	}
	r := rows[0]
	of = verified{job: *r.JobID, epoch: r.Epoch, commit: r.Commit, isDecided: r.IsDecided, rounds: r.Rounds}
	if err := json.Unmarshal(r.Acceptance, &of.acceptance); err != nil {
		return of, false, fmt.Errorf("acceptance: %w", err)
	}
	return of, true, nil
}

// saveVerdictTx writes a verdict; false where the commit has one, or nobody wants it any more.
func saveVerdictTx(ctx context.Context, tx db.Tx, workspace ids.ID, done jobs.Job, said verdict.Verdict, returns bool) (bool, error) {
	criteria, err := json.Marshal(db.OrEmpty(said.Criteria))
	if err != nil {
		return false, fmt.Errorf("encode criteria: %w", err)
	}
	findings, err := json.Marshal(db.OrEmpty(said.Findings))
	if err != nil {
		return false, fmt.Errorf("encode findings: %w", err)
	}
	n, err := q.JobVerdictSave(ctx, tx, dbsqlc.JobVerdictSaveParams{WorkspaceID: workspace, VerifyJobID: done.ID, Verdict: said.Verdict,
		Criteria: criteria, Findings: findings, Agent: done.StatusBy.Name, SentBack: returns})
	return n > 0, err
}
