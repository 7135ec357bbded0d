package loss

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/eventlog/witness"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

// lockedLossesTx returns the losses of a workspace, of which no other transaction adds one meanwhile.
func lockedLossesTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]Loss, error) {
	if err := q.LossLock(ctx, tx, workspace.String()); err != nil {
		return nil, err
	}
	return lossesTx(ctx, tx, workspace, maxLosses)
}

func lossesTx(ctx context.Context, tx db.Tx, workspace ids.ID, limit int) ([]Loss, error) {
	rows, err := q.Losses(ctx, tx, workspace, limit)
	if err != nil {
		return nil, err
	}
	return lossesFrom(rows)
}

func openTx(ctx context.Context, tx db.Tx, workspace ids.ID, limit int) ([]Loss, error) {
	rows, err := q.LossesOpen(ctx, tx, workspace, limit)
	list, err := db.Map(rows, err, func(r dbsqlc.LossesOpenRow) dbsqlc.LogLoss { return dbsqlc.LogLoss(r) })
	if err != nil {
		return nil, err
	}
	return lossesFrom(list)
}

func lossesFrom(rows []dbsqlc.LogLoss) ([]Loss, error) {
	list := make([]Loss, 0, len(rows))
	for _, r := range rows {
		l := Loss{ID: r.ID, NoticedAt: r.NoticedAt, NoticedBy: r.NoticedBy, Detail: r.Detail, Block: r.Block,
			Count: r.EventCount, First: r.FirstEvent, Last: r.LastEvent, NotedAt: r.NotedAt}
		if err := json.Unmarshal(r.Events, &l.Events); err != nil {
			return nil, fmt.Errorf("events of loss %d: %w", r.ID, err)
		}
		list = append(list, l)
	}
	return list, nil
}

func insertTx(ctx context.Context, tx db.Tx, workspace ids.ID, l Loss) error {
	events, err := json.Marshal(append([]witness.Event{}, l.Events...))
	if err != nil {
		return fmt.Errorf("encode events: %w", err)
	}
	return q.LossAdd(ctx, tx, dbsqlc.LossAddParams{WorkspaceID: workspace, NoticedBy: l.NoticedBy, Detail: l.Detail, Block: l.Block,
		Events: events, EventCount: l.Count, FirstEvent: l.First, LastEvent: l.Last})
}

func noteTx(ctx context.Context, tx db.Tx, workspace ids.ID) (int, error) {
	n, err := q.LossesNote(ctx, tx, workspace)
	return int(n), err
}
