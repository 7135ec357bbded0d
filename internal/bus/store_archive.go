package bus

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// dropTx takes expired messages out of inboxes and drops archives from before a time.
func dropTx(ctx context.Context, tx db.Tx, workspace ids.ID, before time.Time) (int, error) {
	expired, err := q.DeliveryExpire(ctx, tx, workspace, sweepRows)
	if err != nil {
		return 0, err
	}
	archives, err := q.ArchiveDrop(ctx, tx, workspace, before, sweepRows)
	if err != nil {
		return 0, err
	}
	return int(expired + archives), nil
}

// oldOnesTx finds those of the next messages that can go, and where to look on.
func oldOnesTx(ctx context.Context, tx db.Tx, workspace ids.ID, after int64, before time.Time) (free []int64, next int64, more bool,
	err error,
) {
	rows, err := q.MessageOld(ctx, tx, before, workspace, after, sweepRows)
	if err != nil {
		return nil, after, false, err
	}
	next = after
	for _, r := range rows {
		if next = r.Seq; r.IsOld && r.IsFree {
			free = append(free, r.Seq)
		}
	}
	return free, next, len(rows) == sweepRows && rows[len(rows)-1].IsOld, nil
}

func bySeqsTx(ctx context.Context, tx db.Tx, workspace ids.ID, seqs []int64) ([]Message, error) {
	rows, err := q.MessagesBySeqs(ctx, tx, workspace, seqs)
	return db.Map(rows, err, func(r dbsqlc.MessagesBySeqsRow) Message { return messageFrom(r.Message, r.JobKey) })
}

// insertArchiveTx adds the archive of messages, in their order.
func insertArchiveTx(ctx context.Context, tx db.Tx, workspace, id ids.ID, seqs []int64, packed blobs.Sum) error {
	return q.ArchiveInsert(ctx, tx, dbsqlc.ArchiveInsertParams{WorkspaceID: workspace, ID: id, FirstSeq: seqs[0],
		LastSeq: seqs[len(seqs)-1], Messages: len(seqs), Blob: packed[:]})
}

func archivesTx(ctx context.Context, tx db.Tx, workspace ids.ID, before int64, limit int) ([]Archive, error) {
	rows, err := q.ArchiveList(ctx, tx, workspace, before, limit)
	return db.Map(rows, err, func(r dbsqlc.ArchiveListRow) Archive {
		return Archive{First: r.FirstSeq, Last: r.LastSeq, Messages: r.Messages, Blob: blobs.Sum(r.Blob), Size: r.Size,
			At: r.At}
	})
}
