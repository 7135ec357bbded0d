package enrol

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// holdFactoryTx locks the factory of an agent. Fault: Superseded where it was removed.
func holdFactoryTx(ctx context.Context, tx db.Tx, who tenancy.Principal) (ids.ID, error) {
	id, err := q.FactoryHold(ctx, tx, who.Workspace, who.Factory)
	if errors.Is(err, pgx.ErrNoRows) {
		return ids.Nil, lease.Superseded(who.Name)
	}
	if err != nil {
		return ids.Nil, err
	}
	return id, nil
}

// endAgentTx notes that an agent has ended. Fault: Superseded for a boot that was replaced.
func endAgentTx(ctx context.Context, tx db.Tx, who tenancy.Principal) error {
	_, err := q.AgentEnd(ctx, tx, who.Workspace, who.Agent, who.Boot, who.Generation)
	if errors.Is(err, pgx.ErrNoRows) {
		return lease.Superseded(who.Name)
	}
	if err != nil {
		return err
	}
	return nil
}

// holdersElsewhereTx locks the agents of the factory that live on another host.
func holdersElsewhereTx(r *registering) ([]holder, error) {
	rows, err := q.FactoryElsewhere(r.ctx, r.tx, dbsqlc.FactoryElsewhereParams{WorkspaceID: r.who.Workspace, FactoryID: r.factory.id,
		Hosts: []string{r.host, r.in.Factory.Host}, Agent: r.in.Agent, BootID: r.in.BootID})
	if err != nil {
		return nil, err
	}
	list := make([]holder, len(rows))
	for i, o := range rows {
		list[i] = holder{Agent: o.Name, Host: o.Host, Since: o.RegisteredAt.UTC(), LastHeartbeatAt: o.LastHeartbeatAt.UTC(),
			StaleAt: o.StaleAt.UTC(), id: o.ID, stale: o.Stale}
	}
	return list, nil
}
