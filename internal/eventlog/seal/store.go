package seal

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

// event is what a seal covers of an event: every column.
type event dbsqlc.LogSealEventsRow

// place is a place in the log: after the event with that id of that transaction.
type place struct {
	xid string
	id  int64
}

var (
	beginning = place{"0", 0}
	end       = place{"18446744073709551615", 0}
)

// block is a sealed part of a log.
type block struct {
	number   int64
	opens    bool
	to       place
	events   []int64 // ids
	digests  []byte  // of the events, one after another
	previous []byte
	digest   []byte
	signed   signature
}

// fold says that an event stands for others, which were removed.
type fold struct {
	event   int64
	digest  []byte // of the event
	removed []int64
	signed  signature
}

// lastTx gives the last block of a log with its number, place and digest only; the
// zero block, at the beginning, where there is none.
func lastTx(ctx context.Context, tx db.Tx, workspace ids.ID) (block, error) {
	row, err := q.LogSealHead(ctx, tx, workspace)
	if errors.Is(err, pgx.ErrNoRows) {
		return block{to: beginning, digest: make([]byte, digestSize)}, nil
	}
	if err != nil {
		return block{}, err
	}
	return block{number: row.Number, to: place{row.ToXid, row.ToID}, digest: row.Digest}, nil
}

// eventsTx gives the events between two places that no other can join any more, at
// most limit of them.
func eventsTx(ctx context.Context, tx db.Tx, workspace ids.ID, after, to place, limit int) ([]event, error) {
	rows, err := q.LogSealEvents(ctx, tx, dbsqlc.LogSealEventsParams{WorkspaceID: workspace, AfterXid: after.xid, AfterID: after.id,
		ToXid: to.xid, ToID: to.id, MaxRows: limit})
	return db.Map(rows, err, func(r dbsqlc.LogSealEventsRow) event { return event(r) })
}

func eventTx(ctx context.Context, tx db.Tx, workspace ids.ID, id int64) (event, error) {
	row, err := q.LogSealEvent(ctx, tx, workspace, id)
	if err != nil {
		return event{}, fmt.Errorf("event %d: %w", id, err)
	}
	return event(row), nil
}

// appendTx appends a block, unless another process has just appended one of its number.
func appendTx(ctx context.Context, tx db.Tx, workspace ids.ID, b block) (appended bool, err error) {
	n, err := q.LogSealAppend(ctx, tx, dbsqlc.LogSealAppendParams{WorkspaceID: workspace, Number: b.number, Opens: b.opens,
		ToXid: b.to.xid, ToID: b.to.id, EventIds: b.events, EventDigests: b.digests, Previous: b.previous, Digest: b.digest,
		Signer: b.signed.signer, Signature: b.signed.bytes})
	if err != nil {
		return false, fmt.Errorf("append block %d: %w", b.number, err)
	}
	return n == 1, nil
}

// openingTx gives the number of the block that opens the present chain, 0 where
// there is none.
func openingTx(ctx context.Context, tx db.Tx, workspace ids.ID) (int64, error) {
	return q.LogSealOpening(ctx, tx, workspace)
}

// blocksTx gives the blocks from a number on, at most limit.
func blocksTx(ctx context.Context, tx db.Tx, workspace ids.ID, first int64, limit int) ([]block, error) {
	rows, err := q.LogSealBlocks(ctx, tx, workspace, first, limit)
	return db.Map(rows, err, func(r dbsqlc.LogSealBlocksRow) block {
		return block{number: r.Number, opens: r.Opens, to: place{r.ToXid, r.ToID}, events: r.EventIds,
			digests: r.EventDigests, previous: r.Previous, digest: r.Digest, signed: signature{r.Signer, r.Signature}}
	})
}

// headsTx gives how far each log is sealed.
func headsTx(ctx context.Context, tx db.Tx) (map[ids.ID]block, error) {
	rows, err := q.LogSealHeads(ctx, tx)
	if err != nil {
		return nil, err
	}
	heads := make(map[ids.ID]block, len(rows))
	for _, r := range rows {
		heads[r.WorkspaceID] = block{number: r.Number, digest: r.Digest, signed: signature{r.Signer, r.Signature}}
	}
	return heads, nil
}

// digestsTx gives the digest of the block that each workspace's number names,
// where it is there.
func digestsTx(ctx context.Context, tx db.Tx, numbers map[ids.ID]int64) (map[ids.ID][]byte, error) {
	var (
		in   []ids.ID
		list []int64
	)
	for workspace, number := range numbers {
		in, list = append(in, workspace), append(list, number)
	}
	rows, err := q.LogSealDigests(ctx, tx, in, list)
	if err != nil {
		return nil, err
	}
	digests := make(map[ids.ID][]byte, len(rows))
	for _, r := range rows {
		digests[r.WorkspaceID] = r.Digest
	}
	return digests, nil
}

func appendFoldTx(ctx context.Context, tx db.Tx, workspace ids.ID, f fold) error {
	return q.LogFoldAppend(ctx, tx, dbsqlc.LogFoldAppendParams{WorkspaceID: workspace, EventID: f.event, EventDigest: f.digest,
		RemovedIds: f.removed, Signer: f.signed.signer, Signature: f.signed.bytes})
}

// foldsTx gives the folds that removed some of the events, or made one of them the
// sum of others.
func foldsTx(ctx context.Context, tx db.Tx, workspace ids.ID, events []int64) ([]fold, error) {
	rows, err := q.LogFolds(ctx, tx, workspace, events)
	return db.Map(rows, err, func(r dbsqlc.LogFoldsRow) fold {
		return fold{event: r.EventID, digest: r.EventDigest, removed: r.RemovedIds,
			signed: signature{r.Signer, r.Signature}}
	})
}
