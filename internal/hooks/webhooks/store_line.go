package webhooks

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// moveTx moves a webhook to a place in the log, unless somebody else has moved it.
func moveTx(ctx context.Context, tx db.Tx, workspace, webhook ids.ID, from *sender, to eventlog.Cursor) error {
	_, err := q.WebhookMove(ctx, tx, dbsqlc.WebhookMoveParams{WorkspaceID: workspace, WebhookID: webhook, OldPlace: from.place.String(),
		Place: to.String(), Seq: from.seq})
	return err
}

// doneTx notes what a try led to, and after which pause the next one is due; false where another process
// has noted it meanwhile.
func doneTx(ctx context.Context, tx db.Tx, workspace ids.ID, d due, o outcome, state DeliveryState, pause time.Duration) (bool, error) {
	n, err := q.WebhookDeliveryDone(ctx, tx, dbsqlc.WebhookDeliveryDoneParams{WorkspaceID: workspace, ID: d.id, Tries: d.tries,
		State: string(state), Status: o.status, Error: o.failed, Answer: o.answer, Millis: int(o.took.Milliseconds()),
		DelaySeconds: pause.Seconds()})
	return n > 0, err
}

// expireTx deletes deliveries that are kept no longer, at most expireBatch, and returns how many.
func expireTx(ctx context.Context, tx db.Tx, workspace, webhook ids.ID) (int, error) {
	return q.WebhookDeliveryExpire(ctx, tx, dbsqlc.WebhookDeliveryExpireParams{WorkspaceID: workspace, WebhookID: webhook, Days: keptDays,
		Kept: keptDeliveries, MaxRows: expireBatch})
}
