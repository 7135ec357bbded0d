package bus

import (
	"context"
	"maps"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// crowdedTx looks what each sender has in those of the inboxes that are crowded, or that more
// than a few messages are added to. Nobody else fills those until the transaction ends.
func crowdedTx(ctx context.Context, tx db.Tx, workspace ids.ID, adds map[string]int) (room, error) {
	if len(adds) == 0 {
		return nil, nil
	}
	inboxes := slices.Sorted(maps.Keys(adds))
	list, err := q.InboxesCrowded(ctx, tx, inboxes, workspace, crowded)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(inboxes, func(inbox string) bool { return adds[inbox] <= few && !slices.Contains(list, inbox) })
	if len(list) == 0 {
		return nil, nil
	}
	r := room{}
	for _, inbox := range list {
		if err := q.NamedLock(ctx, tx, "inbox:"+workspace.String()+":"+inbox); err != nil {
			return nil, err
		}
		r[inbox] = map[ids.ID]int{}
	}
	rows, err := q.InboxesHeld(ctx, tx, list, workspace)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		r[row.Inbox][orNil(row.FromID)] = row.Held
	}
	return r, nil
}
