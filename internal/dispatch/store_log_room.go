package dispatch

import (
	"context"
	"encoding/json"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs/joblog"
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
		{joblog.MaxMinute, row.MinuteBytes, "a minute"},
		{joblog.MaxAttempt, row.AttemptBytes, "an attempt"},
		{joblog.MaxJob, row.JobBytes, "in all"},
	} {
		if left := max(of.most-(of.used-bytes), 0); left < room.bytes {
			room.bytes, room.limit = left, fmt.Sprintf("%d MB %s", of.most>>20, of.limit)
		}
	}
	return room
}

func sizeOf(lines []joblog.Line) (bytes int64) {
	for _, l := range lines {
		bytes += l.Size()
	}
	return bytes
}

// fitting is how many lines at the beginning of a batch there is room for.
func (r logRoom) fitting(lines []joblog.Line) int {
	left := r.bytes
	for i, l := range lines {
		if left -= l.Size(); left < 0 {
			return i
		}
	}
	return len(lines)
}

// freshTx is a batch without the lines that the lease has already.
func freshTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, epoch int64, lines []joblog.Line) ([]joblog.Line, error) {
	var named []string
	for _, l := range lines {
		if l.LineID != "" {
			named = append(named, l.LineID)
		}
	}
	if len(named) == 0 {
		return lines, nil
	}
	known, err := q.LogKnown(ctx, tx, dbsqlc.LogKnownParams{WorkspaceID: who.Workspace, JobID: job, Epoch: epoch,
		Agent: who.Name, LineIds: named})
	if err != nil {
		return nil, fmt.Errorf("known log lines: %w", err)
	}
	had := make(map[string]bool, len(named))
	for _, id := range known {
		had[id] = true
	}
	var fresh []joblog.Line
	for _, l := range lines {
		if !had[l.LineID] {
			fresh = append(fresh, l)
		}
		had[l.LineID] = l.LineID != ""
	}
	return fresh, nil
}

// appendTx adds the lines of a batch that are new and that there is room for, and
// says how many it left out.
func (r logRoom) appendTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, epoch int64,
	lines []joblog.Line) (leftOut int, err error) {
	fresh, err := freshTx(ctx, tx, who, job, epoch, lines)
	if err != nil {
		return 0, err
	}
	kept := r.fitting(fresh)
	if kept > 0 {
		if err := q.LogAppend(ctx, tx, appendParams(who, job, epoch, fresh[:kept])); err != nil {
			return 0, fmt.Errorf("write log lines: %w", err)
		}
	}
	leftOut = len(fresh) - kept
	return leftOut, r.settle(ctx, tx, who, job, epoch, sizeOf(lines)-sizeOf(fresh[:kept]), kept, leftOut)
}

// settle gives back the bytes that were counted and not kept, and writes down how many
// lines were left out: in the line that said so last, where none was kept since.
func (r logRoom) settle(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, epoch, bytes int64,
	kept, leftOut int) error {
	params := dbsqlc.LogUseSettleParams{WorkspaceID: who.Workspace, JobID: job, Bytes: bytes}
	if kept == 0 && r.line != nil {
		params.Line, params.LeftOut = r.line, r.left
	}
	if bytes == 0 && r.line == params.Line {
		return nil
	}
	if leftOut > 0 {
		params.LeftOut += int64(leftOut)
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
			Level: string(joblog.Warning), Event: joblog.LinesLeftOut, Message: text, Details: details})
		p.Line = &id
	}
	if err != nil {
		return fmt.Errorf("write down lines left out: %w", err)
	}
	return nil
}
