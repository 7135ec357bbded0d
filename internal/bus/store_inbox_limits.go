package bus

import (
	"context"
	"maps"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// crowdedInboxesTx returns what each sender has in the inboxes that are crowded or get more than
// maxUnlocked messages, and locks them: nobody else adds messages until the transaction ends.
func crowdedInboxesTx(ctx context.Context, tx db.Tx, workspace ids.ID, adds map[string]int) (senderCounts, error) {
	if len(adds) == 0 {
		return nil, nil
	}
	inboxes := slices.Sorted(maps.Keys(adds))
	list, err := q.InboxesCrowded(ctx, tx, inboxes, workspace, crowdedAbove)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(inboxes, func(inbox string) bool { return adds[inbox] <= maxUnlocked && !slices.Contains(list, inbox) })
	if len(list) == 0 {
		return nil, nil
	}
	r := senderCounts{}
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
