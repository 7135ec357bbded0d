package jobsearch

import (
	"context"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/fulltext"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

var q = dbsqlc.New()

// findTx finds jobs by words of their texts; one whose key is what is looked for comes first.
func findTx(ctx context.Context, tx db.Tx, workspace ids.ID, words string, wanted fulltext.Query, limit int) ([]Found, error) {
	key := strings.TrimSpace(words)
	named, err := jobs.FindManyTx(ctx, tx, workspace, []string{key, strings.ToUpper(key), strings.ToLower(key)})
	if err != nil {
		return nil, err
	}
	var order []ids.ID
	for _, job := range named {
		order = append(order, job.ID)
	}
	rows, err := q.JobSearch(ctx, tx, workspace, wanted.Together(), fulltext.Scan, limit)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if !slices.Contains(order, r.JobID) {
			order = append(order, r.JobID)
		}
	}
	order = order[:min(len(order), limit)]
	return foundTx(ctx, tx, workspace, wanted, order)
}

// foundTx reads jobs that were found, in their order, with their passages.
func foundTx(ctx context.Context, tx db.Tx, workspace ids.ID, wanted fulltext.Query, order []ids.ID) ([]Found, error) {
	said, err := textsTx(ctx, tx, workspace, order)
	if err != nil {
		return nil, err
	}
	passages := make(map[ids.ID]string, len(order))
	for _, t := range said {
		passages[t.ID] = wanted.See(t.said()).Passage()
	}
	found, err := jobs.LoadManyTx(ctx, tx, workspace, order)
	slices.SortFunc(found, func(a, b jobs.Job) int { return slices.Index(order, a.ID) - slices.Index(order, b.ID) })
	list := make([]Found, len(found))
	for i, job := range found {
		list[i] = Found{Job: job, Passage: passages[job.ID]}
	}
	return list, err
}
