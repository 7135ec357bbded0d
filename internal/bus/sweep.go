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
	// messageLife is how long a message is kept, archiveLife an archive of dropped messages.
	messageLife = 90 * 24 * time.Hour
	archiveLife = 365 * 24 * time.Hour
	// sweepRows is how many rows of a workspace one step reads.
	sweepRows = 1000
)

// DropOld removes expired messages from inboxes, archives and drops messages that are older than
// 90 days, and drops archives that are older than a year, of each workspace a bounded number.
// It returns how many rows it dropped. A message stays while an inbox holds it and while an
// export that moved within the 90 days has not reached it; it also stays where the workspace
// has no space for the archive's blob, which is an error that stops no other workspace.
func (s *Service) DropOld(ctx context.Context) (total int, err error) {
	list, err := workspaces(ctx, s.db)
	for _, workspace := range list {
		if ctx.Err() != nil {
			return total, errors.Join(err, ctx.Err())
		}
		n, failed := sweep{s, workspace, time.Now().Add(-messageLife)}.run(ctx)
		total += n
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("drop old messages of %s: %w", workspace, failed))
		}
	}
	return total, err
}

// sweep drops the old messages of one workspace.
type sweep struct {
	*Service

	workspace ids.ID
	before    time.Time // messages that were sent before it are old
}

// run does one step, and returns how many rows it dropped.
func (s sweep) run(ctx context.Context) (total int, err error) {
	err = s.db.In(ctx, db.Workspace(s.workspace), func(tx db.Tx) error {
		total, err = dropTx(ctx, tx, s.workspace, s.before.Add(messageLife-archiveLife))
		return err
	})
	if err != nil || s.blobs == nil {
		return total, err
	}
	for after, more := int64(0), true; more && err == nil && ctx.Err() == nil; {
		var seqs []int64
		if seqs, after, more, err = s.oldMessages(ctx, after); err != nil || len(seqs) == 0 {
			continue
		}
		n, failed := s.archive(ctx, seqs)
		if total += n; failed != nil || n > 0 {
			return total, failed
		}
	}
	return total, err
}

// oldMessages returns, of the next messages after a position, those that can be dropped. more says
// that there may be further ones after next.
func (s sweep) oldMessages(ctx context.Context, after int64) (seqs []int64, next int64, more bool, err error) {
	err = s.db.In(ctx, db.Workspace(s.workspace), func(tx db.Tx) error {
		seqs, next, more, err = oldOnesTx(ctx, tx, s.workspace, after, s.before)
		return err
	})
	return seqs, next, more, err
}
