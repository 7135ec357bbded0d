package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// LogLevel is how grave a line is.
type LogLevel string

// The levels, from the least grave.
const (
	Debug    LogLevel = "DEBUG"
	Info     LogLevel = "INFO"
	Warning  LogLevel = "WARNING"
	Error    LogLevel = "ERROR"
	Critical LogLevel = "CRITICAL"
)

// LogLevels lists them in order.
var LogLevels = []LogLevel{Debug, Info, Warning, Error, Critical}

// LogRetention is how long lines are kept.
const LogRetention = 30 * 24 * time.Hour

// What is kept of a job's log, in bytes of its lines: of a minute, of an attempt and of
// all attempts. LogLineSize is what a line takes beside its texts.
const (
	MaxLogMinute  = 8 << 20
	MaxLogAttempt = 64 << 20
	MaxLogJob     = 256 << 20
	LogLineSize   = 120
)

// LinesLeftOut is the event of the line that says how many the limits left out.
const LinesLeftOut = "log.left_out"

// expireBatch is how many lines one call of ExpireLogs deletes at most.
const expireBatch = 10_000

// LogLine is one line that an agent wrote while it worked on a job.
type LogLine struct {
	ID         int64
	LineID     string // the agent's own id, "" where it gave none; readers are not given it
	Epoch      int64
	Agent      string
	Level      LogLevel
	Event      string // the agent's own name for what happened
	Message    string
	Details    json.RawMessage
	At         *time.Time // the agent's clock
	ReceivedAt time.Time  // ours
}

// Size is what the line takes of its log's limits.
func (l LogLine) Size() int64 {
	return int64(LogLineSize + len(l.Event) + len(l.Message) + len(l.Details) + len(l.LineID))
}

// LogFilter narrows a job's log.
type LogFilter struct {
	Level  LogLevel // this one and graver ones; "" is all
	Epoch  int64    // 0 is all
	Cursor string   // of the page before
	Limit  int      // 1..200, 0 is 50
}

// LogTopic is published when lines were written to a job's log.
func LogTopic(workspace, job ids.ID) string { return "log:" + workspace.String() + ":" + job.String() }

// Logs reads a page of a job's log, newest first, and the next page's cursor.
// Faults: Validation, NotFound.
func (s *Service) Logs(ctx context.Context, who tenancy.Principal, job string, f LogFilter) (list []LogLine, next string, err error) {
	levels, before, limit, err := f.check()
	if err != nil {
		return nil, "", err
	}
	err = s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		id, err := existing(ctx, tx, who.Workspace, job)
		if err != nil {
			return err
		}
		list, err = logsTx(ctx, tx, dbsqlc.LogOlderOfAttemptParams{WorkspaceID: who.Workspace, JobID: id,
			Epoch: f.Epoch, Levels: levels, Before: before, MaxRows: limit + 1})
		return err
	})
	if len(list) > int(limit) {
		list = list[:limit]
		next = strconv.FormatInt(list[limit-1].ID, 10)
	}
	return list, next, err
}

// LogsAfter reads what was written to a job's log after the line with id after,
// oldest first, by the filter's level, epoch and limit. Nothing is skipped,
// whatever is written meanwhile: the lines of one job get their ids in the order
// of their commits (see dispatch.Service.WriteLogs).
func (s *Service) LogsAfter(ctx context.Context, who tenancy.Principal, job ids.ID, after int64, f LogFilter) ([]LogLine, error) {
	levels, _, limit, err := f.check()
	if err != nil {
		return nil, err
	}
	var list []LogLine
	err = s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		rows, err := q.LogAfter(ctx, tx, dbsqlc.LogAfterParams{WorkspaceID: who.Workspace, JobID: job,
			After: after, Levels: levels, Epoch: f.Epoch, MaxRows: limit})
		for _, r := range rows {
			list = append(list, logFrom(dbsqlc.LogOlderRow(r)))
		}
		return err
	})
	return list, err
}

// check gives the levels that pass the filter, the id that its page ends
// before, 0 for the newest, and its length.
func (f LogFilter) check() (levels []string, before int64, limit int32, err error) {
	if f.Limit == 0 {
		f.Limit = 50
	}
	if f.Limit < 1 || f.Limit > 200 {
		return nil, 0, 0, fault.Invalid("limit", "It must be 1 to 200 (it is %d).", f.Limit)
	}
	from := 0
	if f.Level != "" {
		if from = slices.Index(LogLevels, f.Level); from < 0 {
			return nil, 0, 0, fault.Invalid("level", "It must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL.")
		}
	}
	for _, l := range LogLevels[from:] {
		levels = append(levels, string(l))
	}
	if f.Cursor != "" {
		if before, err = strconv.ParseInt(f.Cursor, 10, 64); err != nil || before < 1 {
			return nil, 0, 0, fault.Invalid("cursor", "It must be one that this server gave out.")
		}
	}
	return levels, before, int32(f.Limit), nil
}

// existing is find for reads that would not notice a job that is not there.
func existing(ctx context.Context, tx db.Tx, workspace ids.ID, keyOrID string) (ids.ID, error) {
	job, err := LoadTx(ctx, tx, workspace, keyOrID)
	return job.ID, err
}

// logsTx reads lines of one attempt, or of all where the epoch is 0.
func logsTx(ctx context.Context, tx db.Tx, p dbsqlc.LogOlderOfAttemptParams) ([]LogLine, error) {
	var list []LogLine
	if p.Epoch == 0 {
		rows, err := q.LogOlder(ctx, tx, dbsqlc.LogOlderParams{WorkspaceID: p.WorkspaceID, JobID: p.JobID,
			Levels: p.Levels, Before: p.Before, MaxRows: p.MaxRows})
		for _, r := range rows {
			list = append(list, logFrom(r))
		}
		return list, err
	}
	rows, err := q.LogOlderOfAttempt(ctx, tx, p)
	for _, r := range rows {
		list = append(list, logFrom(dbsqlc.LogOlderRow(r)))
	}
	return list, err
}

func logFrom(r dbsqlc.LogOlderRow) LogLine {
	return LogLine{ID: r.ID, Epoch: r.Epoch, Agent: r.Agent, Level: LogLevel(r.Level), Event: r.Event, Message: r.Message,
		Details: r.Details, At: r.At, ReceivedAt: r.ReceivedAt}
}

// ExpireLogs deletes, a bounded number in each call, lines that are older than
// LogRetention. It returns how many.
func (s *Service) ExpireLogs(ctx context.Context) (int, error) {
	var workspaces []ids.ID
	err := s.db.InSystem(ctx, func(tx db.Tx) (err error) {
		workspaces, err = q.WorkspaceIDs(ctx, tx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("list workspaces: %w", err)
	}
	total := 0
	for _, workspace := range workspaces {
		err := s.db.InWorkspace(ctx, workspace, func(tx db.Tx) error {
			n, err := q.LogExpire(ctx, tx, dbsqlc.LogExpireParams{WorkspaceID: workspace,
				KeepSeconds: LogRetention.Seconds(), MaxRows: int32(expireBatch - total)}) //nolint:gosec // at most expireBatch
			total += int(n)
			return err
		})
		if err != nil {
			return total, fmt.Errorf("delete old log lines: %w", err)
		}
		if total == expireBatch {
			break
		}
	}
	return total, nil
}
