package joblog

import (
	"context"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

// window is the part of a job's log that is read: at most rows lines of the levels and of
// the epoch, 0 for all, on one side of the line from.
type window struct {
	epoch  int64
	levels []string
	from   int64
	rows   int
}

// olderTx reads lines from before a line, newest first; from 0 is the newest one.
func olderTx(ctx context.Context, tx db.Tx, workspace, job ids.ID, w window) (list []Line, err error) {
	var rows []dbsqlc.LogOlderRow
	if w.epoch == 0 {
		rows, err = q.LogOlder(ctx, tx, dbsqlc.LogOlderParams{WorkspaceID: workspace, JobID: job, Levels: w.levels,
			Before: w.from, MaxRows: w.rows})
	} else {
		var ofAttempt []dbsqlc.LogOlderOfAttemptRow
		ofAttempt, err = q.LogOlderOfAttempt(ctx, tx, dbsqlc.LogOlderOfAttemptParams{WorkspaceID: workspace, JobID: job, Epoch: w.epoch,
			Levels: w.levels, Before: w.from, MaxRows: w.rows})
		for _, r := range ofAttempt {
			rows = append(rows, dbsqlc.LogOlderRow(r))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read log lines: %w", err)
	}
	for _, r := range rows {
		list = append(list, fromRow(r))
	}
	return list, nil
}

// searchTx reads the lines with a text among the MaxScan before a line, newest first,
// and the last one that it looked at, 0 where there are no more.
func searchTx(ctx context.Context, tx db.Tx, workspace, job ids.ID, w window, text string) (list []Line, scanned int64, err error) {
	rows, err := q.LogSearch(ctx, tx, dbsqlc.LogSearchParams{WorkspaceID: workspace, JobID: job, Before: w.from, MaxScan: MaxScan,
		Epoch: w.epoch, Levels: w.levels, Q: text, MaxRows: w.rows})
	if err != nil {
		return nil, 0, err
	}
	for _, r := range rows {
		list = append(list, fromRow(dbsqlc.LogOlderRow(r)))
	}
	last, err := q.LogScanned(ctx, tx, workspace, job, w.from, MaxScan)
	if err != nil {
		return nil, 0, err
	}
	if len(last) > 0 {
		scanned = last[0]
	}
	return list, scanned, nil
}

// newerTx reads lines from after a line, oldest first.
func newerTx(ctx context.Context, tx db.Tx, workspace, job ids.ID, w window) (list []Line, err error) {
	rows, err := q.LogAfter(ctx, tx, dbsqlc.LogAfterParams{WorkspaceID: workspace, JobID: job, After: w.from, Levels: w.levels,
		Epoch: w.epoch, MaxRows: w.rows})
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		list = append(list, fromRow(dbsqlc.LogOlderRow(r)))
	}
	return list, nil
}

func fromRow(r dbsqlc.LogOlderRow) Line {
	return Line{ID: r.ID, Epoch: r.Epoch, Agent: r.Agent, Level: Level(r.Level), Event: r.Event, Message: r.Message,
		Details: r.Details, At: r.At, ReceivedAt: r.ReceivedAt}
}

// expireTx deletes at most limit lines that are older than Retention, and the words of logs
// of which all lines are.
func expireTx(ctx context.Context, tx db.Tx, workspace ids.ID, limit int) (int, error) {
	n, err := q.LogExpire(ctx, tx, workspace, Retention.Seconds(), limit)
	if err != nil {
		return 0, err
	}
	err = q.LogWordsExpire(ctx, tx, workspace, Retention.Seconds(), expireBatch)
	if err != nil {
		return 0, err
	}
	return int(n), nil
}
