package report

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// lockedDelivery is what is reported of an attempt, locked. ours says that the attempt was one of
// the factory of the caller.
type lockedDelivery struct {
	attempts.Delivery

	exists, ours bool
	tellings     int
}

func lockDelivery(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, epoch int64) (lockedDelivery, error) {
	r, err := q.AttemptDelivery(ctx, tx, who.Agent, who.Workspace, job, epoch)
	if errors.Is(err, pgx.ErrNoRows) {
		return lockedDelivery{}, nil
	}
	if err != nil {
		return lockedDelivery{}, err
	}
	told := attempts.Delivery{State: attempts.DeliveryState(r.Delivery), Branch: r.DeliveryBranch, Commit: r.DeliveryCommit,
		Detail: r.DeliveryDetail, At: r.DeliveryAt}
	return lockedDelivery{Delivery: told, exists: true, ours: r.IsOurs, tellings: r.DeliveryTellings}, nil
}

func writeDelivery(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, epoch int64, d attempts.Delivery) (*time.Time, error) {
	at, err := q.AttemptDeliver(ctx, tx, dbsqlc.AttemptDeliverParams{WorkspaceID: who.Workspace, JobID: job, Epoch: epoch,
		Delivery: string(d.State), Branch: d.Branch, Commit: d.Commit, Detail: d.Detail})
	if err != nil {
		return nil, err
	}
	return &at, nil
}
