package announce

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/transport"
)

var q = dbsqlc.New()

func insertTx(ctx context.Context, tx db.Tx, o transport.Offer, deliveries int) error {
	_, err := q.DeadOfferInsert(ctx, tx, dbsqlc.DeadOfferInsertParams{WorkspaceID: o.Workspace, JobID: o.Job, Version: int(o.Version),
		FactoryID: o.Factory, Deliveries: deliveries, ExpiresAt: o.ExpiresAt})
	return err
}

func deadOffersTx(ctx context.Context, tx db.Tx, workspace ids.ID, before int64, limit int) ([]DeadOffer, error) {
	rows, err := q.DeadOffers(ctx, tx, workspace, before, limit)
	list := make([]DeadOffer, 0, len(rows))
	for _, r := range rows {
		list = append(list, DeadOffer{ID: r.ID, Job: r.Key, Title: r.Title, Factory: r.Factory, Deliveries: r.Deliveries,
			ExpiresAt: r.ExpiresAt, At: r.At})
	}
	return list, err
}

func jobDeadOffersTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) ([]DeadOffer, error) {
	rows, err := q.DeadOffersOfJob(ctx, tx, workspace, job, maxOfJob)
	var list []DeadOffer
	for _, r := range rows {
		list = append(list, DeadOffer{ID: r.ID, Factory: r.Factory, Deliveries: r.Deliveries, ExpiresAt: r.ExpiresAt, At: r.At})
	}
	return list, err
}

// factoryTx returns the factory of an agent. Fault: Superseded.
func factoryTx(ctx context.Context, tx db.Tx, who tenancy.Principal) (ids.ID, error) {
	factory, err := q.AgentFactoryID(ctx, tx, who.Workspace, who.Agent, who.Boot)
	if errors.Is(err, pgx.ErrNoRows) {
		err = lease.Superseded(who.Name)
	}
	return factory, err
}
