package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
)

// readerRow is an agent that reads or sends.
type readerRow struct {
	boot       string
	generation int64
	roles      []string
	limited    bool
	products   []ids.ID
	factory    ids.ID
}

func readerTx(ctx context.Context, tx db.Tx, workspace, agent ids.ID) (readerRow, error) {
	r, err := q.MessageReader(ctx, tx, dbsqlc.MessageReaderParams{WorkspaceID: workspace, AgentID: agent})
	if errors.Is(err, pgx.ErrNoRows) {
		return readerRow{}, fault.New(fault.Superseded, "This agent is no longer registered. Register it again.")
	}
	if err != nil {
		return readerRow{}, fmt.Errorf("read the reader: %w", err)
	}
	return readerRow{boot: r.BootID, generation: r.Generation, roles: r.Roles, limited: r.Limited, products: r.Products,
		factory: r.FactoryID}, nil
}

// takeTx reads the inboxes of a reader.
func (s *Service) takeTx(ctx context.Context, tx db.Tx, workspace ids.ID, r reader, in Query) ([]Message, error) {
	if in.Peek {
		return peekTx(ctx, tx, workspace, r, in)
	}
	rows, err := q.DeliveryTake(ctx, tx, dbsqlc.DeliveryTakeParams{WorkspaceID: workspace, Own: r.direct, Shared: orEmpty(r.shared),
		After: in.After, Types: orEmpty(in.Types), Limited: r.limited, Products: orEmpty(r.products), Reader: r.id, Most: MaxDeliveries,
		HoldSeconds: s.hold.Seconds(), MaxRows: int32(in.Limit)}) //nolint:gosec // bounded by the caller
	if err != nil {
		return nil, fmt.Errorf("read inbox: %w", err)
	}
	list := make([]Message, 0, len(rows))
	for _, row := range rows {
		if row.Dead {
			continue
		}
		m := messageFrom(row.Message, row.JobKey)
		m.Deliveries = int(row.Deliveries)
		list = append(list, m)
	}
	if len(rows) > 0 && len(list) == 0 {
		return s.takeTx(ctx, tx, workspace, r, in) // what was there is among the dead letters now
	}
	return list, nil
}

func peekTx(ctx context.Context, tx db.Tx, workspace ids.ID, r reader, in Query) ([]Message, error) {
	rows, err := q.DeliveryPeek(ctx, tx, dbsqlc.DeliveryPeekParams{WorkspaceID: workspace, Own: r.direct, Shared: orEmpty(r.shared),
		After: in.After, Types: orEmpty(in.Types), Limited: r.limited, Products: orEmpty(r.products), Reader: r.id,
		MaxRows: int32(in.Limit)}) //nolint:gosec // bounded by the caller
	if err != nil {
		return nil, fmt.Errorf("look into inbox: %w", err)
	}
	list := make([]Message, 0, len(rows))
	for _, row := range rows {
		m := messageFrom(row.Message, row.JobKey)
		m.Deliveries = int(row.Deliveries)
		list = append(list, m)
	}
	return list, nil
}

func heldBackTx(ctx context.Context, tx db.Tx, workspace ids.ID, inboxes []string, after int64) (bool, error) {
	held, err := q.DeliveryHeldBack(ctx, tx, dbsqlc.DeliveryHeldBackParams{WorkspaceID: workspace, Inboxes: inboxes, After: after})
	if err != nil {
		return false, fmt.Errorf("look for what is held back: %w", err)
	}
	return held, nil
}

// due gives those of the inboxes that have something to hand out.
func due(ctx context.Context, d *db.DB, workspace ids.ID, inboxes []string) (list []string, err error) {
	err = d.InWorkspace(ctx, workspace, func(tx db.Tx) error {
		list, err = q.InboxesDue(ctx, tx, dbsqlc.InboxesDueParams{WorkspaceID: workspace, Inboxes: inboxes})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look at inboxes: %w", err)
	}
	return list, nil
}

func ackUpToTx(ctx context.Context, tx db.Tx, workspace ids.ID, r reader, seq int64) (int64, error) {
	n, err := q.DeliveryAckUpTo(ctx, tx, dbsqlc.DeliveryAckUpToParams{WorkspaceID: workspace, Inboxes: r.inboxes(), Own: r.direct,
		Reader: r.id, Seq: seq})
	if err != nil {
		return 0, fmt.Errorf("acknowledge: %w", err)
	}
	return n, nil
}

func ackTx(ctx context.Context, tx db.Tx, workspace ids.ID, r reader, seqs []int64) (int64, error) {
	n, err := q.DeliveryAck(ctx, tx, dbsqlc.DeliveryAckParams{WorkspaceID: workspace, Inboxes: r.inboxes(), Own: r.direct,
		Reader: r.id, Seqs: seqs})
	if err != nil {
		return 0, fmt.Errorf("acknowledge: %w", err)
	}
	return n, nil
}

func nackTx(
	ctx context.Context,
	tx db.Tx,
	workspace ids.ID,
	r reader,
	seq int64,
	reason string,
	retry time.Duration,
) (dead bool, err error) {
	rows, err := q.DeliveryNack(
		ctx,
		tx,
		dbsqlc.DeliveryNackParams{WorkspaceID: workspace, Inboxes: r.inboxes(), Own: r.direct, Seq: seq, Error: reason,
			RetrySeconds: retry.Seconds(), Most: MaxDeliveries, Reader: r.id},
	)
	if err != nil {
		return false, fmt.Errorf("give a message back: %w", err)
	}
	if len(rows) == 0 {
		return false, fault.New(fault.NotFound, "There is no message at %d in this inbox that was handed out.", seq)
	}
	return slices.Contains(rows, true), nil
}
