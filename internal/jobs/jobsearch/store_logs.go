package jobsearch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs/joblog"
)

// workspaces are all there are.
func workspaces(ctx context.Context, d *db.DB) (list []ids.ID, err error) {
	err = d.InSystem(ctx, func(tx db.Tx) error {
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
		return d, fmt.Errorf("read how far logs have words: %w", err)
	}
	var after eventlog.Cursor
	if len(places) > 0 {
		if after, err = eventlog.ParseCursor(places[0]); err != nil {
			return d, err
		}
	}
	jobs, n, end, err := eventlog.TailJobsTx(ctx, tx, workspace, after, eventsPage)
	if err != nil {
		return d, err
	}
	rows, err := q.LogWordsDue(ctx, tx, dbsqlc.LogWordsDueParams{WorkspaceID: workspace, Jobs: jobs, MaxRows: indexPage})
	if err != nil {
		return d, fmt.Errorf("find attempts without words: %w", err)
	}
	d = due{events: n, end: end}
	for _, r := range rows {
		d.attempts = append(d.attempts, attempt{r.JobID, r.Epoch})
	}
	return d, nil
}

func savePlaceTx(ctx context.Context, tx db.Tx, workspace ids.ID, at eventlog.Cursor) error {
	if err := q.LogWordsPlaceSave(ctx, tx, dbsqlc.LogWordsPlaceSaveParams{WorkspaceID: workspace, Place: at.String()}); err != nil {
		return fmt.Errorf("save how far logs have words: %w", err)
	}
	return nil
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
		return nil, fmt.Errorf("read the beginning of a log: %w", err)
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
		return nil, fmt.Errorf("read the end of a log: %w", err)
	}
	list := make([]logLine, 0, len(rows))
	for _, r := range rows {
		list = append(list, logLine{r.ID, r.Event, r.Message, r.ReceivedAt})
	}
	return list, nil
}

func addWordsTx(ctx context.Context, tx db.Tx, workspace ids.ID, a attempt, log logWords) error {
	err := q.LogWordsAdd(ctx, tx, dbsqlc.LogWordsAddParams{WorkspaceID: workspace, JobID: a.job, Epoch: a.epoch,
		Words: slices.Collect(maps.Keys(log.words)), LastAt: log.lastAt})
	if err != nil {
		return fmt.Errorf("write the words of a log: %w", err)
	}
	return nil
}

// attemptsTx finds the newest jobs with words in their logs, of each the last attempt.
func attemptsTx(ctx context.Context, tx db.Tx, workspace ids.ID, wanted string, limit int) ([]attempt, error) {
	rows, err := q.LogWordsFind(ctx, tx, dbsqlc.LogWordsFindParams{WorkspaceID: workspace, Wanted: wanted,
		MaxRows: int32(limit)}) //nolint:gosec // bounded by the caller
	if err != nil {
		return nil, fmt.Errorf("search logs: %w", err)
	}
	list := make([]attempt, 0, len(rows))
	for _, r := range rows {
		list = append(list, attempt{r.JobID, r.Epoch})
	}
	return list, nil
}

// linesTx reads, by job, lines of attempts with the words of the parts.
func linesTx(ctx context.Context, tx db.Tx, workspace ids.ID, attempts []attempt, parts []part) (map[ids.ID][]joblog.Line, error) {
	asked := dbsqlc.LogWordsSeenParams{WorkspaceID: workspace, MaxScan: lookLines, MaxRows: seenLines, Jobs: []ids.ID{}, Epochs: []int64{}}
	for _, a := range attempts {
		asked.Jobs, asked.Epochs = append(asked.Jobs, a.job), append(asked.Epochs, a.epoch)
	}
	for _, p := range parts {
		for _, w := range p.words {
			asked.Parts = append(asked.Parts, "%"+w+"%")
		}
	}
	rows, err := q.LogWordsSeen(ctx, tx, asked)
	if err != nil {
		return nil, fmt.Errorf("look for words in logs: %w", err)
	}
	lines := make(map[ids.ID][]joblog.Line, len(attempts))
	for _, r := range rows {
		lines[r.JobID] = append(lines[r.JobID], joblog.Line{ID: r.ID, Epoch: r.Epoch, Agent: r.Agent, Level: joblog.Level(r.Level),
			Event: r.Event, Message: r.Message, Details: r.Details, At: r.At, ReceivedAt: r.ReceivedAt})
	}
	return lines, nil
}
