package report

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// lockLog locks the lease that lines are written under, counts their bytes, and returns
// the space that there is for them. held is false where the agent does not have the
// lease.
func lockLog(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, epoch, bytes int64) (
	status lease.Status, room logRoom, held bool, err error,
) {
	rows, err := q.LogLease(ctx, tx, dbsqlc.LogLeaseParams{WorkspaceID: who.Workspace, JobID: job, Epoch: epoch, AgentID: who.Agent,
		Bytes: bytes})
	if err != nil {
		return lease.Status{}, logRoom{}, false, err
	}
	if len(rows) == 0 {
		return lease.Status{}, logRoom{}, false, nil
	}
	l := rows[0]
	use := logUse{minute: l.MinuteBytes, attempt: l.AttemptBytes, all: l.JobBytes, line: l.LeftOutLine, leftOut: l.LeftOut}
	status = lease.Status{Epoch: epoch, Directive: l.Directive, Reason: l.DirectiveReason, ExpiresAt: &l.ExpiresAt}
	return status, use.room(bytes), true, nil
}

// knownLines returns those of the line ids that the lease has already.
func knownLines(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, epoch int64, named []string) (map[string]bool, error) {
	list, err := q.LogKnown(ctx, tx, dbsqlc.LogKnownParams{WorkspaceID: who.Workspace, JobID: job, Epoch: epoch,
		Agent: who.Name, LineIds: named})
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(named))
	for _, id := range list {
		known[id] = true
	}
	return known, nil
}

func appendLines(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, epoch int64, lines []joblog.Line) error {
	p := dbsqlc.LogAppendParams{WorkspaceID: who.Workspace, JobID: job, Epoch: epoch, Agent: who.Name}
	for _, l := range lines {
		details, at := string(l.Details), ""
		if details == "" {
			details = "{}"
		}
		if l.At != nil {
			at = l.At.UTC().Format(time.RFC3339Nano)
		}
		p.Levels, p.Events = append(p.Levels, string(l.Level)), append(p.Events, l.Event)
		p.Messages, p.Details = append(p.Messages, l.Message), append(p.Details, details)
		p.Ats, p.LineIds = append(p.Ats, at), append(p.LineIds, l.LineID)
	}
	return q.LogAppend(ctx, tx, p)
}

// writeLeftOut writes the line that says how many were left out, again where there is
// one, and returns its id.
func writeLeftOut(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, epoch int64, line *int64, leftOut int64, text string) (
	id int64, err error,
) {
	details, err := json.Marshal(map[string]int64{"lines": leftOut})
	if err != nil {
		return 0, fmt.Errorf("encode details: %w", err)
	}
	if line != nil {
		id = *line
		err = q.LogMarkAgain(ctx, tx, text, details, who.Workspace, id)
	} else {
		id, err = q.LogMark(ctx, tx, dbsqlc.LogMarkParams{WorkspaceID: who.Workspace, JobID: job, Epoch: epoch, Agent: who.Name,
			Level: string(joblog.Warning), Event: joblog.LinesLeftOut, Message: text, Details: details})
	}
	if err != nil {
		return 0, fmt.Errorf("write down lines left out: %w", err)
	}
	return id, nil
}

// correctUse gives back bytes that were counted and not kept, and notes the line that
// says how many lines were left out.
func correctUse(ctx context.Context, tx db.Tx, workspace, job ids.ID, bytes int64, line *int64, leftOut int64) error {
	return q.LogUseSettle(ctx, tx, dbsqlc.LogUseSettleParams{WorkspaceID: workspace, JobID: job, Bytes: bytes,
		Line: line, LeftOut: leftOut})
}
