// Package jobsearch finds jobs by the words of their texts and of their logs. Loops of the
// leader write the words with an Index: those of texts once a job was made or changed (ADR 79),
// those of a log once an attempt has ended (ADR 63).
package jobsearch

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fulltext"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Found is a job with the passage of its texts, or of its log, that has the words looked for,
// in which they stand between fulltext.MarkBegin and fulltext.MarkEnd.
type Found struct {
	jobs.Job

	Passage string
	In      *InLog // nil where it was found by its texts
}

// Service searches.
type Service struct{ db *db.DB }

// New returns the search of the jobs kept in d.
func New(d *db.DB) *Service { return &Service{db: d} }

// Find finds jobs by words of their key, title, body, question, answer and last error, read by
// fulltext.Parse. One whose key it is comes first, then the best of the newest, at most limit.
//
// Fault: Validation for a search without a word.
func (s *Service) Find(ctx context.Context, who tenancy.Principal, words string, limit int) (list []Found, err error) {
	wanted, err := fulltext.Parse(words)
	if err != nil {
		return nil, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		list, err = findTx(ctx, tx, who.Workspace, words, wanted, limit)
		return err
	}, db.Snapshot, db.PlanAnew)
	return list, err
}
