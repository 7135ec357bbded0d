package jobsearch

import (
	"context"
	"fmt"
	"slices"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fulltext"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
)

var q = dbsqlc.New()

func findTx(ctx context.Context, tx db.Tx, workspace ids.ID, wanted string, limit int) ([]Found, error) {
	rows, err := q.JobSearch(ctx, tx, dbsqlc.JobSearchParams{WorkspaceID: workspace, Wanted: wanted, Scan: fulltext.Scan,
		MaxRows: int32(limit)}) //nolint:gosec // bounded by the caller
	if err != nil {
		return nil, fmt.Errorf("search jobs: %w", err)
	}
	passages, order := make(map[ids.ID]string, len(rows)), make([]ids.ID, len(rows))
	for i, r := range rows {
		passages[r.ID], order[i] = r.Passage, r.ID
	}
	found, err := jobs.LoadManyTx(ctx, tx, workspace, order)
	slices.SortFunc(found, func(a, b jobs.Job) int { return slices.Index(order, a.ID) - slices.Index(order, b.ID) })
	list := make([]Found, len(found))
	for i, job := range found {
		list[i] = Found{Job: job, Passage: passages[job.ID]}
	}
	return list, err
}
