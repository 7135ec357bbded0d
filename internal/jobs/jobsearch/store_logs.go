package jobsearch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fulltext"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
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

// dueTx reads the next part of a workspace's log of events.
func dueTx(ctx context.Context, tx db.Tx, workspace ids.ID) (d due, err error) {
	places, err := q.LogWordsPlace(ctx, tx, workspace)
	if err != nil {
		return d, err
	}
	if len(places) > 0 {
		d.era = fulltext.Era{Number: places[0].Era, Filled: places[0].Filled}
		if d.after, err = eventlog.ParseCursor(places[0].Place); err != nil {
			return d, err
		}
	}
	jobs, n, end, err := eventlog.TailJobsTx(ctx, tx, workspace, d.after, eventsPage)
	if err != nil {
		return d, err
	}
	rows, err := q.LogWordsDue(ctx, tx, jobs, workspace, indexPage)
	if err != nil {
		return d, err
	}
	d.events, d.end = n, end
	for _, r := range rows {
		d.attempts = append(d.attempts, attempt{r.JobID, r.Epoch})
	}
	return d, nil
}

func savePlaceTx(ctx context.Context, tx db.Tx, workspace ids.ID, at eventlog.Cursor, era fulltext.Era) error {
	return q.LogWordsPlaceSave(ctx, tx, workspace, at.String(), era.Number, era.Filled)
}

// logLine is what of a line is taken for its words.
type logLine struct {
	id             int64
	event, message string
	at             time.Time
}

// headTx reads the lines of an attempt after one of them.
func headTx(ctx context.Context, tx db.Tx, workspace ids.ID, a attempt, after int64) ([]logLine, error) {
	rows, err := q.LogWordsLines(ctx, tx, dbsqlc.LogWordsLinesParams{WorkspaceID: workspace, JobID: a.job, Epoch: a.epoch, After: after,
		MaxRows: linesPage})
	if err != nil {
		return nil, err
	}
	list := make([]logLine, 0, len(rows))
	for _, r := range rows {
		list = append(list, logLine{r.ID, r.Event, r.Message, r.ReceivedAt})
	}
	return list, nil
}

// tailTx reads the lines of an attempt between two of them, the newest first.
func tailTx(ctx context.Context, tx db.Tx, workspace ids.ID, a attempt, after, before int64) ([]logLine, error) {
	rows, err := q.LogWordsLinesBack(ctx, tx, dbsqlc.LogWordsLinesBackParams{WorkspaceID: workspace, JobID: a.job, Epoch: a.epoch,
		After: after, Before: before, MaxRows: linesPage})
	if err != nil {
		return nil, err
	}
	list := make([]logLine, 0, len(rows))
	for _, r := range rows {
		list = append(list, logLine{r.ID, r.Event, r.Message, r.ReceivedAt})
	}
	return list, nil
}

func addWordsTx(ctx context.Context, tx db.Tx, workspace ids.ID, a attempt, era fulltext.Era, list []blockWords) error {
	for _, b := range list {
		err := q.LogWordsAdd(ctx, tx, dbsqlc.LogWordsAddParams{WorkspaceID: workspace, JobID: a.job, Epoch: a.epoch, Era: era.Number,
			FirstID: b.first, LastID: b.last, Words: slices.Collect(maps.Keys(b.words)), LastAt: b.lastAt})
		if err != nil {
			return err
		}
	}
	return nil
}

// block is a piece of an attempt's log, and its last lines, the newest first.
type block struct {
	attempt

	first, last int64
	lines       []logLine
}

// blocksTx finds the newest blocks with words, of each job one.
func blocksTx(ctx context.Context, tx db.Tx, workspace ids.ID, wanted fulltext.Query, limit int) ([]*block, error) {
	rows, err := q.LogWordsFind(ctx, tx, workspace, wanted.Apart(), limit)
	if err != nil {
		return nil, err
	}
	var list []*block
	for _, r := range rows {
		known := slices.ContainsFunc(list, func(b *block) bool { return b.job == r.JobID })
		if !known { // each step back may find a job again
			list = append(list, &block{attempt: attempt{r.JobID, r.Epoch}, first: r.FirstID, last: r.LastID})
		}
	}
	return list, nil
}

// readTx reads the lines of blocks.
func readTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []*block) error {
	asked := dbsqlc.LogWordsBlocksParams{WorkspaceID: workspace, MaxRows: blockLines, Jobs: []ids.ID{}}
	of := make(map[ids.ID]*block, len(list))
	for _, b := range list {
		of[b.job] = b
		asked.Jobs, asked.Epochs = append(asked.Jobs, b.job), append(asked.Epochs, b.epoch)
		asked.FirstIds, asked.LastIds = append(asked.FirstIds, b.first), append(asked.LastIds, b.last)
	}
	rows, err := q.LogWordsBlocks(ctx, tx, asked)
	if err != nil {
		return err
	}
	for _, r := range rows {
		of[r.JobID].lines = append(of[r.JobID].lines, logLine{id: r.ID, event: r.Event, message: r.Message})
	}
	return nil
}

// linesTx reads a line of each of these jobs, by job; 0 is none.
func linesTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID, lines []int64) (map[ids.ID]joblog.Line, error) {
	rows, err := q.LogWordsLinesByID(ctx, tx, jobs, lines, workspace)
	if err != nil {
		return nil, err
	}
	list := make(map[ids.ID]joblog.Line, len(rows))
	for _, r := range rows {
		list[r.JobID] = joblog.Line{ID: r.ID, Epoch: r.Epoch, Agent: r.Agent, Level: joblog.Level(r.Level),
			Event: r.Event, Message: r.Message, Details: r.Details, At: r.At, ReceivedAt: r.ReceivedAt}
	}
	return list, nil
}
