package offer

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// retention is how long offers are kept whose time is over, and that mean nothing any more.
	retention = time.Minute
	// expireBatch is how many one call of ExpireOffers deletes at most.
	expireBatch = 5000
)

// Service deletes ended offers.
type Service struct{ db *db.DB }

// NewService returns the offers kept in d.
func NewService(d *db.DB) *Service { return &Service{d} }

// ExpireOffers deletes, a bounded number in each call, offers whose time is over: of jobs that are not
// ready or have changed since, and all where offers are not made any more. What is left says of
// a ready job to whom it was offered. It returns how many.
func (s *Service) ExpireOffers(ctx context.Context) (int, error) {
	var workspaces []ids.ID
	err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		workspaces, err = q.WorkspaceIDs(ctx, tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	total := 0
	for _, workspace := range workspaces {
		err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			n, err := q.OffersExpire(ctx, tx, workspace, retention.Seconds(), expireBatch-total)
			total += int(n)
			return err
		})
		if err != nil || total >= expireBatch {
			return total, err
		}
	}
	return total, nil
}
