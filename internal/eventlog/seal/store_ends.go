package seal

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// End is how far a log goes.
type End struct {
	Workspace ids.ID `json:"workspace"`
	Slug      string `json:"slug"`
	// Position is the id of the newest event, 0 where there is none.
	Position int64 `json:"position"`
	// Block is the number of the last block of seals, 0 where there is none, and Digest its SHA-256.
	Block  int64  `json:"block"`
	Digest []byte `json:"digest,omitempty"`
	// Newest are the newest events, the newest first, where they were asked for.
	Newest []Happened `json:"newest,omitempty"`
}

// Happened is an event by its place in the log, with the key of the job that it is about.
type Happened struct {
	Position int64  `json:"position"`
	Job      string `json:"job,omitempty"`
}

// Ends returns how far the log of each workspace goes.
func Ends(ctx context.Context, d *db.DB) (list []End, err error) {
	err = d.In(ctx, db.System, func(tx db.Tx) error {
		rows, err := q.LogEnds(ctx, tx)
		list, err = db.Map(rows, err, func(r dbsqlc.LogEndsRow) End {
			return End{Workspace: r.WorkspaceID, Slug: r.Slug, Position: r.Position, Block: r.Block, Digest: r.Digest}
		})
		return err
	})
	return list, err
}

// Newest returns the newest events of a log, at most so many.
func Newest(ctx context.Context, d *db.DB, workspace ids.ID, most int) (list []Happened, err error) {
	err = d.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		rows, err := q.LogNewest(ctx, tx, workspace, most)
		list, err = db.Map(rows, err, func(r dbsqlc.LogNewestRow) Happened { return Happened{Position: r.ID, Job: r.Job} })
		return err
	})
	return list, err
}

// Compare returns the logs that do not have the blocks that others say they end with.
func Compare(ctx context.Context, d *db.DB, ends []End) (cuts []Cut, err error) {
	m := marks{Logs: map[ids.ID]mark{}}
	for _, e := range ends {
		if e.Block > 0 {
			m.Logs[e.Workspace] = mark{e.Block, e.Digest}
		}
	}
	err = d.In(ctx, db.System, func(tx db.Tx) error {
		heads, err := headsTx(ctx, tx)
		if err == nil {
			cuts, err = cutTx(ctx, tx, m, heads)
		}
		return err
	})
	return cuts, err
}
