package coordinator

import (
	"context"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

// scannedLine is a line of the log, and how many lines were scanned up to it.
type scannedLine struct {
	LogLine

	scanned int
}

// linesTx reads the lines of some levels that are older than one, newest first.
func linesTx(ctx context.Context, tx db.Tx, workspace ids.ID, before int64, levels []string, scan, limit int) ([]scannedLine, error) {
	rows, err := q.CoordinatorLogList(ctx, tx, dbsqlc.CoordinatorLogListParams{WorkspaceID: workspace, Before: before,
		Levels: levels, MaxScan: scan, MaxRows: limit})
	list := make([]scannedLine, 0, len(rows))
	for _, r := range rows {
		list = append(list, scannedLine{scanned: r.Looked, LogLine: LogLine{ID: r.ID, At: r.At, InstanceID: r.InstanceID,
			Term: r.Term, Level: r.Level, Message: r.Message, Details: r.Details}})
	}
	return list, err
}

// addLineTx writes one line of the log. A nil workspace is the server as a whole.
func addLineTx(ctx context.Context, tx db.Tx, workspace *ids.ID, l LogLine) error {
	return q.CoordinatorLogAdd(ctx, tx, dbsqlc.CoordinatorLogAddParams{WorkspaceID: workspace, InstanceID: l.InstanceID,
		Term: l.Term, Level: l.Level, Message: l.Message, Details: l.Details})
}

// workspacesWith returns the workspaces that a query finds. what names their work in errors.
func workspacesWith(
	ctx context.Context, d *db.DB, what string, find func(context.Context, dbsqlc.DBTX) ([]ids.ID, error),
) (list []ids.ID, err error) {
	err = d.In(ctx, db.System, func(tx db.Tx) error {
		list, err = find(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return list, nil
}

// withOldLines lists workspaces with lines to delete.
func withOldLines(ctx context.Context, d *db.DB) ([]ids.ID, error) {
	return workspacesWith(ctx, d, "old lines", func(ctx context.Context, tx dbsqlc.DBTX) ([]ids.ID, error) {
		return q.CoordinatorLogOldWorkspaces(ctx, tx, keepDays, expireBatch)
	})
}

// expireLinesTx deletes old lines of the transaction's workspace, or of none.
func expireLinesTx(ctx context.Context, tx db.Tx) (int, error) {
	n, err := q.CoordinatorLogExpire(ctx, tx, keepDays, expireBatch)
	return int(n), err
}

// withChangedCounts lists workspaces whose counts of jobs have changes to sum up.
func withChangedCounts(ctx context.Context, d *db.DB) ([]ids.ID, error) {
	return workspacesWith(ctx, d, "changes of counts", q.JobCountWorkspaces)
}

// sumUpTx sums up a batch of changes, and returns how many there were.
func sumUpTx(ctx context.Context, tx db.Tx, workspace ids.ID) (int, error) {
	return q.JobCountSettle(ctx, tx, workspace, countBatch)
}

// queueHoursTx reads what the queue did in some hours.
func queueHoursTx(ctx context.Context, tx db.Tx, workspace ids.ID, hours []time.Time) ([]queueRow, error) {
	rows, err := q.QueueHours(ctx, tx, hours, workspace)
	list := make([]queueRow, len(rows))
	for i, r := range rows {
		list[i] = queueRow(r)
	}
	return list, err
}

// markHourTx notes that a coordinator is at work in this hour, and forgets hours that no chart shows.
func markHourTx(ctx context.Context, tx db.Tx, workspace ids.ID) error {
	if err := q.QueueHourMark(ctx, tx, workspace); err != nil {
		return err
	}
	return q.QueueHourExpire(ctx, tx, workspace)
}

// allWorkspaces lists all workspaces.
func allWorkspaces(ctx context.Context, d *db.DB) ([]ids.ID, error) {
	return workspacesWith(ctx, d, "workspaces", q.WorkspaceIDs)
}

// withChangedHealth lists workspaces with agents whose health is not the recorded one.
func withChangedHealth(ctx context.Context, d *db.DB) ([]ids.ID, error) {
	return workspacesWith(ctx, d, "health of agents", q.AgentHealthWorkspaces)
}

// recordHealthTx records the present health of agents, and returns the changes.
func recordHealthTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]healthChange, error) {
	rows, err := q.AgentHealthTell(ctx, tx, workspace, maxHealthChanges)
	list := make([]healthChange, 0, len(rows))
	for _, r := range rows {
		list = append(list, healthChange{Agent: r.Name, Factory: r.Factory, LastHeartbeatAt: r.LastHeartbeatAt,
			before: fleet.Health(r.Before), after: fleet.Health(r.After)})
	}
	return list, err
}

// analyzeGrownTables analyzes tables that have grown; see the function in the database.
func analyzeGrownTables(ctx context.Context, d *db.DB) (n int, err error) {
	err = d.In(ctx, db.System, func(tx db.Tx) error {
		counted, err := q.AnalyzeGrownTables(ctx, tx)
		n = counted
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("analyze tables that have grown: %w", err)
	}
	return n, nil
}
