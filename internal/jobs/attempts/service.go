package attempts

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// manyLines is where counting an attempt's lines ends.
	manyLines = 1000
)

// Service reads the attempts on jobs.
type Service struct{ db *db.DB }

// NewService returns the attempts kept in d.
func NewService(d *db.DB) *Service { return &Service{db: d} }

// Attempts reads a job's attempts, newest first, at most 200. NotFound.
func (s *Service) Attempts(ctx context.Context, who tenancy.Principal, keyOrID string) (list []Attempt, err error) {
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		job, err := jobs.LoadTx(ctx, tx, who.Workspace, keyOrID)
		if err != nil {
			return err
		}
		list, err = OfJobTx(ctx, tx, who.Workspace, job)
		return err
	})
	return list, err
}

// AttemptPage reads a job with a page of its attempts, newest first: those
// before an epoch, 0 for the newest. more is set where there are older ones.
// Fault: NotFound.
func (s *Service) AttemptPage(ctx context.Context, who tenancy.Principal, keyOrID string, before int64, limit int) (
	job jobs.Job, list []Record, more bool, err error,
) {
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		if job, err = jobs.LoadTx(ctx, tx, who.Workspace, keyOrID); err != nil {
			return err
		}
		if list, err = olderTx(ctx, tx, who.Workspace, job, before, limit+1); err != nil {
			return err
		}
		if more = len(list) > limit; more {
			list = list[:limit]
		}
		return completeTx(ctx, tx, who.Workspace, job.ID, list)
	})
	return job, list, more, err
}
