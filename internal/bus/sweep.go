package bus

import (
	"context"
	"errors"
	"time"

	"fleetboard/db"
)

const (
	// keptFor is how long a message is kept.
	keptFor = 90 * 24 * time.Hour
	// sweepRows is how many messages of a workspace one call drops.
	sweepRows = 5000
)

// DropOld takes expired messages out of inboxes, and drops messages that are older than 90
// days, of each workspace a bounded number. It returns how many rows went.
func (s *Service) DropOld(ctx context.Context) (total int, err error) {
	list, err := workspaces(ctx, s.db)
	for _, workspace := range list {
		if ctx.Err() != nil {
			return total, errors.Join(err, ctx.Err())
		}
		failed := s.db.InWorkspace(ctx, workspace, func(tx db.Tx) error {
			n, err := dropTx(ctx, tx, s.blobs, workspace, time.Now().Add(-keptFor))
			total += n
			return err
		})
		err = errors.Join(err, failed)
	}
	return total, err
}
