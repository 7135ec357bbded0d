package jobs

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// anchor is where a job stands that another one is compared with.
type anchor = dbsqlc.RankAnchorRow

// anchorTx reads where a job stands, by its key or id. NotFound where there is none.
func anchorTx(ctx context.Context, tx db.Tx, workspace ids.ID, keyOrID string) (anchor, error) {
	id, err := find(ctx, tx, workspace, keyOrID)
	if err != nil {
		return anchor{}, err
	}
	a, err := q.RankAnchor(ctx, tx, workspace, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return anchor{}, notFound(keyOrID)
	}
	return a, err
}

// rankBeforeTx returns the rank right before an anchor's at its place, but for a job's own; nil where there
// is none.
func rankBeforeTx(ctx context.Context, tx db.Tx, workspace, job ids.ID, a anchor) ([]byte, error) {
	return first(q.RankBefore(ctx, tx, dbsqlc.RankBeforeParams{
		WorkspaceID: workspace, JobID: job, Priority: a.Priority, Place: a.Place, Rank: a.TieBreak}))
}

// rankAfterTx is rankBeforeTx for the one right after it.
func rankAfterTx(ctx context.Context, tx db.Tx, workspace, job ids.ID, a anchor) ([]byte, error) {
	return first(q.RankAfter(ctx, tx, dbsqlc.RankAfterParams{
		WorkspaceID: workspace, JobID: job, Priority: a.Priority, Place: a.Place, Rank: a.TieBreak}))
}

func first(ranks [][]byte, err error) ([]byte, error) {
	if err != nil || len(ranks) == 0 {
		return nil, err
	}
	return ranks[0], nil
}

// neighbours are the jobs of a ready job's product that are as urgent: the first, and those beside it.
// Where there is none, it is the job itself.
type neighbours = dbsqlc.RankNeighboursRow

func neighboursTx(ctx context.Context, tx db.Tx, workspace ids.ID, j Job) (neighbours, error) {
	return q.RankNeighbours(ctx, tx, workspace, j.ID, j.ProductID)
}

// spotTx reads where a job is ranked, nil where it is not.
func spotTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) (*spot, error) {
	rows, err := q.RankOfJob(ctx, tx, workspace, job)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &spot{rows[0].Place, rows[0].Rank}, nil
}

// writeRankTx writes where a locked job is ranked, nil for nowhere, with the event of it.
func writeRankTx(
	ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, at *spot, what eventlog.Type, payload json.RawMessage,
) (dbsqlc.RankSaveRow, error) {
	by := who.Actor()
	params := dbsqlc.RankSaveParams{WorkspaceID: who.Workspace, JobID: job, EventType: string(what), Actor: by.Name,
		ActorKind: string(by.Kind), ActorID: by.ID, Payload: payload}
	if at != nil {
		params.Place, params.Rank = &at.Place, at.Rank
	}
	return q.RankSave(ctx, tx, params)
}
