package transcript

import (
	"context"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

func openTx(ctx context.Context, tx db.Tx, of Attempt) (head, error) {
	r, err := q.TranscriptOpen(ctx, tx, of.Workspace, of.Job, of.Epoch)
	return head{last: r.LastN, steps: r.Steps, attemptBytes: r.Bytes, minuteBytes: r.MinuteBytes, jobBytes: r.JobBytes}, err
}

func countTx(ctx context.Context, tx db.Tx, of Attempt, c count) error {
	return q.TranscriptCount(ctx, tx, dbsqlc.TranscriptCountParams{WorkspaceID: of.Workspace, JobID: of.Job, Epoch: of.Epoch,
		LastN: c.last, Steps: int64(c.steps), Bytes: c.bytes, LeftOut: int64(c.leftOut), Tokens: c.tokens, CostNanos: c.cost})
}

// tailTx returns the last chunks, the last first.
func tailTx(ctx context.Context, tx db.Tx, of Attempt) ([]tailChunk, error) {
	rows, err := q.TranscriptTail(ctx, tx, of.Workspace, of.Job, of.Epoch, maxTail)
	if err != nil {
		return nil, err
	}
	list := make([]tailChunk, 0, len(rows))
	for _, r := range rows {
		list = append(list, tailChunk{first: r.FirstN, size: r.Size})
	}
	return list, nil
}

// takeTx takes the chunks from a step on out, and returns them in their order.
func takeTx(ctx context.Context, tx db.Tx, of Attempt, first int64) ([]chunk, error) {
	rows, err := q.TranscriptTake(ctx, tx, of.Workspace, of.Job, of.Epoch, first)
	if err != nil {
		return nil, err
	}
	list := make([]chunk, 0, len(rows))
	for _, r := range rows {
		list = append(list, chunk{first: r.FirstN, kinds: r.Kinds, data: r.Data})
	}
	slices.SortFunc(list, func(a, b chunk) int { return int(a.first - b.first) })
	return list, nil
}

func insertTx(ctx context.Context, tx db.Tx, of Attempt, c chunk) error {
	return q.TranscriptChunkInsert(ctx, tx, dbsqlc.TranscriptChunkInsertParams{WorkspaceID: of.Workspace, JobID: of.Job,
		Epoch: of.Epoch, FirstN: c.first, LastN: c.last, Size: c.size, Kinds: c.kinds, Data: c.data})
}

func headTx(ctx context.Context, tx db.Tx, of Attempt) (Head, error) {
	rows, err := q.TranscriptHead(ctx, tx, of.Workspace, of.Job, of.Epoch)
	if err != nil || len(rows) == 0 {
		return Head{}, err
	}
	r := rows[0]
	return Head{Last: r.LastN, Steps: r.Steps, LeftOut: r.LeftOut, Bytes: r.Bytes, Tokens: r.Tokens, Cost: r.CostNanos}, nil
}

// nextTx returns the next chunk on the filter's side of a place that has steps of its kinds; one without a last
// step where there is none.
func nextTx(ctx context.Context, tx db.Tx, of Attempt, f Filter, place int64) (chunk, error) {
	if f.Before == 0 {
		rows, err := q.TranscriptChunks(ctx, tx, dbsqlc.TranscriptChunksParams{WorkspaceID: of.Workspace, JobID: of.Job,
			Epoch: of.Epoch, After: place, Kinds: bits(f.Kinds), MaxRows: 1})
		if err != nil || len(rows) == 0 {
			return chunk{}, err
		}
		return chunk{first: rows[0].FirstN, last: rows[0].LastN, data: rows[0].Data}, nil
	}
	rows, err := q.TranscriptChunksBefore(ctx, tx, dbsqlc.TranscriptChunksBeforeParams{WorkspaceID: of.Workspace, JobID: of.Job,
		Epoch: of.Epoch, Before: place, Kinds: bits(f.Kinds), MaxRows: 1})
	if err != nil || len(rows) == 0 {
		return chunk{}, err
	}
	return chunk{first: rows[0].FirstN, last: rows[0].LastN, data: rows[0].Data}, nil
}

func epochsTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) ([]int64, error) {
	return q.TranscriptEpochs(ctx, tx, workspace, job, maxEpochs)
}
