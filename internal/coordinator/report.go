package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/leadership"
)

const (
	levelInfo    = "INFO"
	levelWarning = "WARNING"
	// keepDays is how long lines of the log are kept.
	keepDays = 30
	// expireBatch bounds what is deleted of one workspace at once.
	expireBatch = 5000
)

// line writes one line of the log. A nil workspace is the server as a whole; the
// transaction must be one of that workspace, or of none.
func (t *term) line(ctx context.Context, tx db.Tx, workspace *ids.ID, level, message string, details any) error {
	encoded, err := json.Marshal(details)
	if err != nil {
		return fmt.Errorf("encode details: %w", err)
	}
	err = q.CoordinatorLogAdd(ctx, tx, dbsqlc.CoordinatorLogAddParams{WorkspaceID: workspace, InstanceID: t.instance,
		Term: t.Number, Level: level, Message: message, Details: encoded})
	if err != nil {
		return fmt.Errorf("write coordinator log: %w", err)
	}
	return nil
}

// note writes a line about the server as a whole, if it can be had.
func (t *term) note(ctx context.Context, level, message string) {
	err := t.db.InNone(ctx, func(tx db.Tx) error { return t.line(ctx, tx, nil, level, message, struct{}{}) })
	if err != nil {
		t.log.LogAttrs(ctx, slog.LevelWarn, "a line of the coordinator's log is lost", slog.Any("error", err))
	}
}

// report writes down what was done since the last report: the counters in the
// office's row, and one line where more was done than to look.
func (t *term) report(ctx context.Context) error {
	n, ok := t.tally.take()
	if !ok {
		return nil
	}
	err := t.db.InNone(ctx, func(tx db.Tx) error {
		if n.cycles > 0 {
			r := leadership.Report{LastCycle: n.last, Cycles: n.cycles, Stats: n.all}
			// In a row of a later term there is no place for it; the line below says it.
			if _, err := t.office.ReportTx(ctx, tx, t.Number, r); err != nil {
				return err
			}
		}
		if len(n.fresh) == 0 {
			return nil
		}
		return t.line(ctx, tx, nil, levelInfo, sentence(n.fresh), n.fresh)
	})
	if err != nil {
		// Told twice is better than not at all.
		t.tally.giveBack(n)
		return err
	}
	if len(n.fresh) > 0 {
		t.log.InfoContext(ctx, sentence(n.fresh), "term", t.Number)
	}
	return nil
}

// expireLog deletes lines of the coordinator's log that are older than 30 days.
func (t *term) expireLog(ctx context.Context) (int, error) {
	var workspaces []ids.ID
	err := t.db.InSystem(ctx, func(tx db.Tx) (err error) {
		workspaces, err = q.CoordinatorLogOldWorkspaces(ctx, tx,
			dbsqlc.CoordinatorLogOldWorkspacesParams{Days: keepDays, MaxRows: expireBatch})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("old lines: %w", err)
	}
	total := 0
	expire := func(tx db.Tx) error {
		n, err := q.CoordinatorLogExpire(ctx, tx, dbsqlc.CoordinatorLogExpireParams{Days: keepDays, MaxRows: expireBatch})
		total += int(n)
		return err
	}
	failed := t.db.InNone(ctx, expire)
	for _, w := range workspaces {
		failed = errors.Join(failed, t.db.InWorkspace(ctx, w, expire))
	}
	return total, failed
}
