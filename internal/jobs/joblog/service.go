package joblog

import (
	"context"
	"slices"
	"strconv"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// expireBatch is how many lines one call of ExpireLogs deletes at most.
const expireBatch = 10_000

// Service reads the lines and deletes the old ones.
type Service struct{ db *db.DB }

// NewService returns the log lines kept in d.
func NewService(d *db.DB) *Service { return &Service{db: d} }

// Logs reads a page of a job's log, newest first, and the next page's cursor.
// Faults: Validation, NotFound.
func (s *Service) Logs(ctx context.Context, who tenancy.Principal, job string, f Filter) (list []Line, next string, err error) {
	if _, _, _, err = f.check(); err != nil {
		return nil, "", err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		of, err := jobs.LoadTx(ctx, tx, who.Workspace, job)
		if err != nil {
			return err
		}
		list, next, err = LogsTx(ctx, tx, who.Workspace, of.ID, f)
		return err
	})
	return list, next, err
}

// LogsTx reads a page of a job's log, newest first, and the next page's cursor, ""
// after the last one. Fault: Validation.
func LogsTx(ctx context.Context, tx db.Tx, workspace, job ids.ID, f Filter) (list []Line, next string, err error) {
	levels, before, limit, err := f.check()
	if err != nil {
		return nil, "", err
	}
	part := window{epoch: f.Epoch, levels: levels, from: before, rows: limit + 1}
	var scanned int64
	if f.Text == "" {
		list, err = olderTx(ctx, tx, workspace, job, part)
	} else {
		list, scanned, err = searchTx(ctx, tx, workspace, job, part, f.Text)
	}
	if len(list) > limit {
		list = list[:limit]
		scanned = list[limit-1].ID
	}
	if scanned > 0 {
		next = strconv.FormatInt(scanned, 10)
	}
	return list, next, err
}

// LogsAfter reads what was written to a job's log after the line with id after,
// oldest first, by the filter's level, epoch and limit. Nothing is skipped,
// whatever is written meanwhile: the lines of one job get their ids in the order
// of their commits (see dispatch.Service.WriteLogs).
func (s *Service) LogsAfter(ctx context.Context, who tenancy.Principal, job ids.ID, after int64, f Filter) ([]Line, error) {
	levels, _, limit, err := f.check()
	if err != nil {
		return nil, err
	}
	var list []Line
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		list, err = newerTx(ctx, tx, who.Workspace, job, window{epoch: f.Epoch, levels: levels, from: after, rows: limit})
		return err
	})
	return list, err
}

// check gives the levels that pass the filter, the id that its page ends
// before, 0 for the newest, and its length.
func (f Filter) check() (levels []string, before int64, limit int, err error) {
	if f.Limit == 0 {
		f.Limit = 50
	}
	if f.Limit < 1 || f.Limit > 200 {
		return nil, 0, 0, fault.Invalid("limit", "It must be 1 to 200 (it is %d).", f.Limit)
	}
	from := 0
	if f.Level != "" {
		if from = slices.Index(Levels, f.Level); from < 0 {
			return nil, 0, 0, fault.Invalid("level", "It must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL.")
		}
	}
	for _, l := range Levels[from:] {
		levels = append(levels, string(l))
	}
	if f.Cursor != "" {
		if before, err = strconv.ParseInt(f.Cursor, 10, 64); err != nil || before < 1 {
			return nil, 0, 0, fault.Invalid("cursor", "It must be one that this server gave out.")
		}
	}
	return levels, before, f.Limit, nil
}

// ExpireLogs deletes, a bounded number in each call, lines that are older than
// Retention. It returns how many.
func (s *Service) ExpireLogs(ctx context.Context) (int, error) {
	var workspaces []ids.ID
	err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		workspaces, err = q.WorkspaceIDs(ctx, tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	total := 0
	for _, workspace := range workspaces {
		err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			n, err := expireTx(ctx, tx, workspace, expireBatch-total)
			total += n
			return err
		})
		if err != nil {
			return total, err
		}
		if total == expireBatch {
			break
		}
	}
	return total, nil
}
