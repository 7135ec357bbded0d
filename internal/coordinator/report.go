package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/leadership"
)

const (
	levelInfo    = "INFO"
	levelWarning = "WARNING"
	// keepDays is how long lines of the log are kept.
	keepDays = 30
	// expireBatch bounds what is deleted of one workspace at once.
	expireBatch = 5000
)

// writeLine writes a line of the coordinator's log, about a workspace or, where it is nil, about the
// server as a whole. The transaction must be of that workspace, or of none.
func (t *term) writeLine(ctx context.Context, tx db.Tx, workspace *ids.ID, level, message string, details any) error {
	encoded, err := json.Marshal(details)
	if err != nil {
		return fmt.Errorf("encode details: %w", err)
	}
	return addLineTx(ctx, tx, workspace, LogLine{InstanceID: t.instance, Term: t.Number, Level: level, Message: message, Details: encoded})
}

// writeServerLine writes a line about the server as a whole. Where that fails the line is lost.
func (t *term) writeServerLine(ctx context.Context, level, message string) {
	err := t.db.In(ctx, db.None, func(tx db.Tx) error { return t.writeLine(ctx, tx, nil, level, message, struct{}{}) })
	if err != nil {
		t.log.LogAttrs(ctx, slog.LevelWarn, "a line of the coordinator's log is lost", slog.Any("error", err))
	}
}

// report writes what was done since the last report: the counters to the leader's row, and
// a line to the log where anything was done.
func (t *term) report(ctx context.Context) error {
	n, ok := t.counters.takeUnreported()
	if !ok {
		return nil
	}
	err := t.db.In(ctx, db.None, func(tx db.Tx) error {
		if n.cycles > 0 {
			r := leadership.Report{LastCycle: n.last, Cycles: n.cycles, Stats: n.all}
			// The row may be of a later term by now; then only the log's line has it.
			if _, err := t.election.ReportTx(ctx, tx, t.Number, r); err != nil {
				return err
			}
		}
		if len(n.fresh) == 0 {
			return nil
		}
		return t.writeLine(ctx, tx, nil, levelInfo, describe(n.fresh), n.fresh)
	})
	if err != nil {
		// Better reported twice than never.
		t.counters.restore(n)
		return err
	}
	if len(n.fresh) > 0 {
		t.log.InfoContext(ctx, describe(n.fresh), "term", t.Number)
	}
	return nil
}

// expireLog deletes lines of the coordinator's log that are older than 30 days.
func (t *term) expireLog(ctx context.Context) (int, error) {
	workspaces, err := withOldLines(ctx, t.db)
	if err != nil {
		return 0, err
	}
	total := 0
	expire := func(tx db.Tx) error {
		n, err := expireLinesTx(ctx, tx)
		total += n
		return err
	}
	failed := t.db.In(ctx, db.None, expire)
	for _, w := range workspaces {
		failed = errors.Join(failed, t.db.In(ctx, db.Workspace(w), expire))
	}
	return total, failed
}
