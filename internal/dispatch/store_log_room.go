package dispatch

import (
	"context"
	"encoding/json"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// logRoom is what a job's log keeps of a batch, by its limits.
type logRoom struct {
	bytes int64
	limit string // that comes first
	// line says that lines before the batch were left out, and how many; nil where
	// lines were kept since.
	line *int64
	left int64
}

// roomOf is the room before a batch whose bytes are counted already.
func roomOf(row dbsqlc.LogLeaseRow, bytes int64) logRoom {
	room := logRoom{bytes: bytes, line: row.LeftOutLine, left: row.LeftOut}
	for _, of := range []struct {
		most, used int64
		limit      string
	}{
		{jobs.MaxLogMinute, row.MinuteBytes, "a minute"},
		{jobs.MaxLogAttempt, row.AttemptBytes, "an attempt"},
		{jobs.MaxLogJob, row.JobBytes, "in all"},
	} {
		if left := max(of.most-(of.used-bytes), 0); left < room.bytes {
			room.bytes, room.limit = left, fmt.Sprintf("%d MB %s", of.most>>20, of.limit)
		}
	}
	return room
}

func sizeOf(lines []jobs.LogLine) (bytes int64) {
	for _, l := range lines {
		bytes += l.Size()
	}
	return bytes
}

// fitting is how many lines at the beginning of a batch there is room for.
func (r logRoom) fitting(lines []jobs.LogLine) int {
	left := r.bytes
	for i, l := range lines {
		if left -= l.Size(); left < 0 {
			return i
		}
	}
	return len(lines)
}

// appendTx adds the lines that there is room for, and says how many it left out.
func (r logRoom) appendTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, epoch int64,
	lines []jobs.LogLine) (leftOut int, err error) {
	kept := r.fitting(lines)
	if kept > 0 {
		if err := q.LogAppend(ctx, tx, appendParams(who, job, epoch, lines[:kept])); err != nil {
			return 0, fmt.Errorf("write log lines: %w", err)
		}
	}
	return len(lines) - kept, r.settle(ctx, tx, who, job, epoch, lines, kept)
}

// settle gives back the bytes of lines that were not kept, and writes down how many
// there are: in the line that said so last, where none was kept since.
func (r logRoom) settle(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, epoch int64,
	lines []jobs.LogLine, kept int) error {
	params := dbsqlc.LogUseSettleParams{WorkspaceID: who.Workspace, JobID: job, Bytes: sizeOf(lines[kept:])}
	switch left := int64(len(lines) - kept); {
	case left == 0 && r.line == nil:
		return nil
	case left > 0:
		params.Line, params.LeftOut = r.line, left
		if kept > 0 {
			params.Line = nil
		}
		if params.Line != nil {
			params.LeftOut += r.left
		}
		if err := r.mark(ctx, tx, who, job, epoch, &params); err != nil {
			return err
		}
	}
	if err := q.LogUseSettle(ctx, tx, params); err != nil {
		return fmt.Errorf("settle log: %w", err)
	}
	return nil
}

// mark writes the line that says how many were left out.
func (r logRoom) mark(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, epoch int64, p *dbsqlc.LogUseSettleParams) error {
	text := fmt.Sprintf("%d lines left out: a job's log keeps %s.", p.LeftOut, r.limit)
	details, err := json.Marshal(map[string]int64{"lines": p.LeftOut})
	if err != nil {
		return fmt.Errorf("encode details: %w", err)
	}
	if p.Line != nil {
		err = q.LogMarkAgain(ctx, tx, dbsqlc.LogMarkAgainParams{WorkspaceID: who.Workspace, ID: *p.Line, Message: text, Details: details})
	} else {
		var id int64
		id, err = q.LogMark(ctx, tx, dbsqlc.LogMarkParams{WorkspaceID: who.Workspace, JobID: job, Epoch: epoch, Agent: who.Name,
			Level: string(jobs.Warning), Event: jobs.LinesLeftOut, Message: text, Details: details})
		p.Line = &id
	}
	if err != nil {
		return fmt.Errorf("write down lines left out: %w", err)
	}
	return nil
}
