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

// takenTx notes tries that the receiver took; false where another process has noted all of them meanwhile.
func takenTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []result) (bool, error) {
	p := dbsqlc.WebhookDeliveriesTakenParams{WorkspaceID: workspace}
	for _, r := range list {
		p.Ids, p.Tries, p.Statuses = append(p.Ids, r.id), append(p.Tries, r.tries), append(p.Statuses, r.status)
		p.Answers, p.Millis = append(p.Answers, r.answer), append(p.Millis, int(r.took.Milliseconds()))
	}
	n, err := q.WebhookDeliveriesTaken(ctx, tx, p)
	return n > 0, err
}

// doneTx notes a try that failed, and after which pause the next one is due; false where another process
// has noted it meanwhile.
func doneTx(ctx context.Context, tx db.Tx, workspace ids.ID, r result, state DeliveryState, pause time.Duration) (bool, error) {
	n, err := q.WebhookDeliveryDone(ctx, tx, dbsqlc.WebhookDeliveryDoneParams{WorkspaceID: workspace, ID: r.id, Tries: r.tries,
		State: string(state), Status: r.status, Error: r.failed, Answer: r.answer, Millis: int(r.took.Milliseconds()),
		DelaySeconds: pause.Seconds()})
	return n > 0, err
}

// expireTx deletes deliveries that are kept no longer, at most expireBatch, and returns how many.
func expireTx(ctx context.Context, tx db.Tx, workspace, webhook ids.ID) (int, error) {
	return q.WebhookDeliveryExpire(ctx, tx, dbsqlc.WebhookDeliveryExpireParams{WorkspaceID: workspace, WebhookID: webhook, Days: keptDays,
		Kept: keptDeliveries, MaxRows: expireBatch})
}
