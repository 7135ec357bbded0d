package bus

import (
	"context"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// workspaces returns all there are.
func workspaces(ctx context.Context, d *db.DB) (list []ids.ID, err error) {
	err = d.In(ctx, db.System, func(tx db.Tx) error {
		list, err = q.WorkspaceIDs(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	return list, nil
}

func lockBridgeTx(ctx context.Context, tx db.Tx, workspace ids.ID) (eventlog.Cursor, error) {
	place, err := q.BridgeLock(ctx, tx, workspace)
	if err != nil {
		return eventlog.Cursor{}, err
	}
	return eventlog.ParseCursor(place)
}

func saveBridgeTx(ctx context.Context, tx db.Tx, workspace ids.ID, at eventlog.Cursor) error {
	return q.BridgeSave(ctx, tx, at.String(), workspace)
}

func submittersTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID) (map[ids.ID]tenancy.Actor, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	rows, err := q.BridgeSubmitters(ctx, tx, jobs, workspace)
	if err != nil {
		return nil, err
	}
	by := make(map[ids.ID]tenancy.Actor, len(rows))
	for _, r := range rows {
		by[r.JobID] = tenancy.ParseActor(r.ActorKind, r.ActorID, r.Actor)
	}
	return by, nil
}

// factoriesTx finds the factories that handed in what events decide on.
func factoriesTx(ctx context.Context, tx db.Tx, workspace ids.ID, events []eventlog.Event) (map[eventlog.Cursor]string, error) {
	if len(events) == 0 {
		return nil, nil
	}
	var (
		in     []ids.ID
		epochs []int64
	)
	for _, e := range events {
		in, epochs = append(in, *e.JobID), append(epochs, *e.Epoch)
	}
	rows, err := q.BridgeHandedIn(ctx, tx, in, epochs, workspace)
	if err != nil {
		return nil, err
	}
	found := make(map[eventlog.Cursor]string, len(rows))
	for _, r := range rows {
		found[events[r.N-1].Cursor] = r.Factory
	}
	return found, nil
}
