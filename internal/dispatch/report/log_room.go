package report

import (
	"context"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
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

// logUse is how many bytes a job's log has, those of a batch among them, and the line
// that says what was left out since the last one that was kept.
type logUse struct {
	minute, attempt, all int64
	line                 *int64
	leftOut              int64
}

// room returns the space left before a batch whose bytes are counted already.
func (u logUse) room(bytes int64) logRoom {
	room := logRoom{bytes: bytes, line: u.line, left: u.leftOut}
	for _, of := range []struct {
		most, used int64
		limit      string
	}{
		{joblog.MaxMinute, u.minute, "a minute"},
		{joblog.MaxAttempt, u.attempt, "an attempt"},
		{joblog.MaxJob, u.all, "in all"},
	} {
		if left := max(of.most-(of.used-bytes), 0); left < room.bytes {
			room.bytes, room.limit = left, fmt.Sprintf("%d MB %s", of.most>>20, of.limit)
		}
	}
	return room
}

func totalSize(lines []joblog.Line) (bytes int64) {
	for _, l := range lines {
		bytes += l.Size()
	}
	return bytes
}

// fitting returns how many lines at the beginning of a batch there is space for.
func (r logRoom) fitting(lines []joblog.Line) int {
	left := r.bytes
	for i, l := range lines {
		if left -= l.Size(); left < 0 {
			return i
		}
	}
	return len(lines)
}

// freshTx returns a batch without the lines that the lease has already.
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
	had, err := knownLines(ctx, tx, who, job, epoch, named)
	if err != nil {
		return nil, err
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

// appendTx adds the lines of a batch that are new and that there is space for, and
// says how many it left out.
func (r logRoom) appendTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, epoch int64,
	lines []joblog.Line) (leftOut int, err error) {
	fresh, err := freshTx(ctx, tx, who, job, epoch, lines)
	if err != nil {
		return 0, err
	}
	kept := r.fitting(fresh)
	if kept > 0 {
		if err := appendLines(ctx, tx, who, job, epoch, fresh[:kept]); err != nil {
			return 0, err
		}
	}
	leftOut = len(fresh) - kept
	return leftOut, r.correctTx(ctx, tx, who, job, epoch, totalSize(lines)-totalSize(fresh[:kept]), kept, leftOut)
}

// correctTx gives back the bytes that were counted and not kept, and writes down how many
// lines were left out: in the line that said so last, where none was kept since.
func (r logRoom) correctTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, epoch, bytes int64, kept, leftOut int) error {
	var line *int64
	var left int64
	if kept == 0 && r.line != nil {
		line, left = r.line, r.left
	}
	if bytes == 0 && r.line == line {
		return nil
	}
	if leftOut > 0 {
		left += int64(leftOut)
		text := fmt.Sprintf("%d lines left out: a job's log keeps %s.", left, r.limit)
		written, err := writeLeftOut(ctx, tx, who, job, epoch, line, left, text)
		if err != nil {
			return err
		}
		line = &written
	}
	return correctUse(ctx, tx, who.Workspace, job, bytes, line, left)
}
