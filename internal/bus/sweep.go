package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
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
// workspace has no space for its blob: that is an error, and keeps no other workspace.
func (s *Service) DropOld(ctx context.Context) (total int, err error) {
	list, err := workspaces(ctx, s.db)
	for _, workspace := range list {
		if ctx.Err() != nil {
			return total, errors.Join(err, ctx.Err())
		}
		n, failed := sweep{s, workspace, time.Now().Add(-keptFor)}.run(ctx)
		if total += n; failed != nil {
			err = errors.Join(err, fmt.Errorf("drop old messages of %s: %w", workspace, failed))
		}
	}
	return total, err
}

// sweep is what is dropped of one workspace.
type sweep struct {
	*Service

	workspace ids.ID
	before    time.Time // messages that were said before it are old
}

// run does a step of it.
func (s sweep) run(ctx context.Context) (total int, err error) {
	err = s.db.In(ctx, db.Workspace(s.workspace), func(tx db.Tx) error {
		total, err = dropTx(ctx, tx, s.workspace, s.before.Add(keptFor-archivedFor))
		return err
	})
	if err != nil || s.blobs == nil {
		return total, err
	}
	for after, more := int64(0), true; more && err == nil && ctx.Err() == nil; {
		var piece []int64
		if piece, after, more, err = s.oldOnes(ctx, after); err != nil || len(piece) == 0 {
			continue
		}
		n, failed := s.archive(ctx, piece)
		if total += n; failed != nil || n > 0 {
			return total, failed
		}
	}
	return total, err
}

// oldOnes finds, among the next messages after a place, those that can go. more says that
// there may be others behind them.
func (s sweep) oldOnes(ctx context.Context, after int64) (piece []int64, next int64, more bool, err error) {
	err = s.db.In(ctx, db.Workspace(s.workspace), func(tx db.Tx) error {
		piece, next, more, err = oldOnesTx(ctx, tx, s.workspace, after, s.before)
		return err
	})
	return piece, next, more, err
}
