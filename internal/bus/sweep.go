package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fleetboard/db"
	"fleetboard/internal/ids"
)

const (
	// keptFor is how long a message is kept, archivedFor an archive of dropped ones.
	keptFor     = 90 * 24 * time.Hour
	archivedFor = 365 * 24 * time.Hour
	// sweepRows is how many rows of a workspace one step looks at.
	sweepRows = 1000
)

// DropOld takes expired messages out of inboxes, archives and drops messages that are older
// than 90 days, and drops archives that are older than a year, of each workspace a bounded
// number. It returns how many rows went. A message stays that an inbox holds, that lies
// before an export which moved within the 90 days, and that cannot be archived, since the
// workspace has no room for its blob: that is an error, and keeps no other workspace.
func (s *Service) DropOld(ctx context.Context) (total int, err error) {
	list, err := workspaces(ctx, s.db)
	for _, workspace := range list {
		if ctx.Err() != nil {
			return total, errors.Join(err, ctx.Err())
		}
		n, failed := s.dropOld(ctx, workspace)
		if total += n; failed != nil {
			err = errors.Join(err, fmt.Errorf("drop old messages of %s: %w", workspace, failed))
		}
	}
	return total, err
}

// dropOld does it in one workspace.
func (s *Service) dropOld(ctx context.Context, workspace ids.ID) (total int, err error) {
	now := time.Now()
	err = s.db.InWorkspace(ctx, workspace, func(tx db.Tx) error {
		total, err = dropTx(ctx, tx, workspace, now.Add(-archivedFor))
		return err
	})
	if err != nil || s.blobs == nil {
		return total, err
	}
	before := now.Add(-keptFor)
	for after, more := int64(0), true; more && err == nil && ctx.Err() == nil; {
		var piece []int64
		if piece, after, more, err = s.oldOnes(ctx, workspace, after, before); err != nil || len(piece) == 0 {
			continue
		}
		n, failed := s.archive(ctx, workspace, piece, before)
		if total += n; failed != nil || n > 0 {
			return total, failed
		}
	}
	return total, err
}

// oldOnes finds, among the next messages after a place, those that can go. more says that
// there may be others behind them.
func (s *Service) oldOnes(ctx context.Context, workspace ids.ID, after int64, before time.Time) (piece []int64, next int64, more bool,
	err error,
) {
	err = s.db.InWorkspace(ctx, workspace, func(tx db.Tx) error {
		piece, next, more, err = oldOnesTx(ctx, tx, workspace, after, before)
		return err
	})
	return piece, next, more, err
}
