package seal

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// FoldedTx returns which of the events are gone, or other than they were, because a job was deleted or its
// history was folded.
func FoldedTx(ctx context.Context, tx db.Tx, workspace ids.ID, events []int64) (map[int64]bool, error) {
	folds, err := foldsTx(ctx, tx, workspace, events)
	folded := map[int64]bool{}
	for _, f := range folds {
		folded[f.event] = true
		for _, id := range f.removed {
			folded[id] = true
		}
	}
	return folded, err
}
