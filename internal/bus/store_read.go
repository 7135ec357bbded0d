package bus

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/metrics"
)

// readerRow is an agent that reads or sends.
type readerRow struct {
	reach

	boot       string
	generation int64
	ended      bool
	roles      []string
	factory    ids.ID
}

// readersTx reads agents.
func readersTx(ctx context.Context, tx db.Tx, workspace ids.ID, agents []ids.ID) (map[ids.ID]readerRow, error) {
	rows, err := q.MessageReaders(ctx, tx, workspace, agents)
	if err != nil {
		return nil, err
	}
	readers := make(map[ids.ID]readerRow, len(rows))
	for _, r := range rows {
		readers[r.ID] = readerRow{reach: reach{r.Limited, r.Products}, boot: r.BootID, generation: r.Generation, ended: r.Ended,
			roles: r.Roles, factory: r.FactoryID}
	}
	return readers, nil
}

// takeTx reads the inboxes of a reader. onlyDead says that all messages that it read are dead
// letters now, and that there may be more messages.
func (s *Service) takeTx(ctx context.Context, tx db.Tx, workspace ids.ID, r reader, in Query) (list []Message, onlyDead bool, err error) {
	rows, err := q.DeliveryTake(ctx, tx, dbsqlc.DeliveryTakeParams{WorkspaceID: workspace, Own: r.direct, Shared: db.OrEmpty(r.shared),
		After: in.After, Types: db.OrEmpty(in.Types), Limited: r.limited, Products: db.OrEmpty(r.products), Reader: r.id,
		Most: MaxDeliveries, HoldSeconds: s.hold.Seconds(), Peek: in.Peek, MaxRows: in.Limit})
	if err != nil {
		return nil, false, err
	}
	for _, row := range rows {
		if row.Dead {
			metrics.MessagesDead.Inc()
			continue
		}
		m := messageFrom(row.Message, &row.JobKey)
		m.Deliveries = row.Deliveries
		list = append(list, m)
	}
	return list, len(rows) > 0 && len(list) == 0, nil
}

// heldBackTx reports whether a running transaction holds messages of inboxes back after a
// position.
func heldBackTx(ctx context.Context, tx db.Tx, workspace ids.ID, inboxes []string, after int64) (bool, error) {
	return q.DeliveryHeldBack(ctx, tx, inboxes, workspace, after)
}

// inboxCheck is when inboxes were checked, and the log's end then: transactions below it have
// committed or never will.
type inboxCheck struct {
	at  time.Time
	seq int64
}

func inboxCheckTx(ctx context.Context, tx db.Tx) (inboxCheck, error) {
	now, err := q.LogNow(ctx, tx)
	if err != nil {
		return inboxCheck{}, err
	}
	return inboxCheck{now.At, now.Seq}, nil
}

// inboxesDue returns the inboxes that have got messages to hand out since an earlier check, and
// this check.
func inboxesDue(ctx context.Context, d *db.DB, workspace ids.ID, own, shared []string, last inboxCheck) (
	list []string, now inboxCheck, err error,
) {
	err = d.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		if now, err = inboxCheckTx(ctx, tx); err != nil {
			return err
		}
		list, err = q.InboxesDue(ctx, tx, dbsqlc.InboxesDueParams{WorkspaceID: workspace, Own: db.OrEmpty(own), Shared: db.OrEmpty(shared),
			SinceSeq: last.seq, SinceTime: last.at, Until: now.seq})
		return err
	}, db.ByIndex)
	if err != nil {
		return nil, last, fmt.Errorf("check inboxes: %w", err)
	}
	return list, now, nil
}

func ackUpToTx(ctx context.Context, tx db.Tx, workspace ids.ID, r reader, seq int64) (int64, error) {
	return q.DeliveryAckUpTo(ctx, tx, dbsqlc.DeliveryAckUpToParams{WorkspaceID: workspace, Inboxes: r.inboxes(), Own: r.direct,
		Reader: r.id, Seq: seq})
}

func ackTx(ctx context.Context, tx db.Tx, workspace ids.ID, r reader, seqs []int64) (int64, error) {
	return q.DeliveryAck(ctx, tx, dbsqlc.DeliveryAckParams{WorkspaceID: workspace, Inboxes: r.inboxes(), Own: r.direct,
		Reader: r.id, Seqs: seqs})
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
		return false, err
	}
	if len(rows) == 0 {
		return false, fault.New(fault.NotFound, "There is no message at %d in this inbox that was handed out.", seq)
	}
	return slices.Contains(rows, true), nil
}
