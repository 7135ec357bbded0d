package screens

import (
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// countNeeds counts what waits for a person, each kind up to needsCap.
func (r *reader) countNeeds(unroutable []lane) (Needs, error) {
	work, verify := splitLanes(unroutable)
	row, err := q.NeedsCount(r.ctx, r.tx, dbsqlc.NeedsCountParams{WorkspaceID: r.workspace, MaxScan: needsScan, MaxReviews: maxReviews,
		MaxRows: needsCap, Lanes: work, VerifyLanes: verify})
	if err != nil {
		return Needs{}, err
	}
	return Needs{Questions: capped(row.Questions), Reviews: capped(row.Reviews),
		Unroutable: capped(row.Unroutable), Failed: capped(row.Failed)}, nil
}

// oldestNeeds finds the jobs that wait longest for a person, one more than are listed.
func (r *reader) oldestNeeds(unroutable []lane) ([]ids.ID, map[ids.ID]NeedKind, error) {
	work, verify := splitLanes(unroutable)
	rows, err := q.NeedsList(r.ctx, r.tx, dbsqlc.NeedsListParams{WorkspaceID: r.workspace, InReview: string(jobs.InReview),
		Lanes: work, VerifyLanes: verify, MaxScan: needsScan, MaxReviews: maxReviews, MaxRows: maxNeeds + 1})
	if err != nil {
		return nil, nil, err
	}
	list, kinds := make([]ids.ID, 0, len(rows)), make(map[ids.ID]NeedKind, len(rows))
	for _, row := range rows {
		list = append(list, row.ID)
		kinds[row.ID] = NeedKind(row.Kind)
	}
	return list, kinds, nil
}

// openQuestions finds the most urgent jobs that wait for an answer, at most a page.
func (r *reader) openQuestions() ([]ids.ID, error) {
	return q.NeedsQuestions(r.ctx, r.tx, r.workspace, needsScan, PageSize)
}
