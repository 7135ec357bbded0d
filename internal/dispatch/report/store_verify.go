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
