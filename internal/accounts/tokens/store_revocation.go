package tokens

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

func putRevocationTx(ctx context.Context, tx db.Tx, workspace, subject ids.ID, why Ended, floor int64) error {
	return q.RevocationPut(ctx, tx, workspace, subject, string(why), floor)
}

// revocationsSinceTx reads those of all workspaces after a time, with the time of
// the database before it looked. The zero time is since ever.
func revocationsSinceTx(ctx context.Context, tx db.Tx, since time.Time) ([]revocation, time.Time, error) {
	now, err := q.RevocationNow(ctx, tx)
	if err != nil {
		return nil, time.Time{}, err
	}
	rows, err := q.RevocationSince(ctx, tx, since)
	if err != nil {
		return nil, time.Time{}, err
	}
	found := make([]revocation, 0, len(rows))
	for _, row := range rows {
		found = append(found, revocation{
			workspace: row.WorkspaceID, subject: row.Subject, why: Ended(row.Reason), floor: row.Floor, at: row.At,
		})
	}
	return found, now, nil
}
