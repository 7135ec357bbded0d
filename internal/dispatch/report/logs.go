package report

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Limits of a batch of log lines.
const (
	maxLines       = 1000
	maxLogEvent    = 64
	maxLogDetails  = 16 << 10 // bytes
	maxLineID      = 200
	maxLogProblems = 50
)

// WriteLogs adds lines to the log of the job that an agent works on, at most
// 1,000, without the values of the job's secrets. Of a line the server fills in ID,
// Epoch, Agent and ReceivedAt. A line with a LineID that the lease has already is
// kept once; lines that are all kept already may be sent after the lease has ended.
// Those beyond the limits of the job's log are left out, and a line says how many.
// Faults as of Progress.
func (s *Service) WriteLogs(ctx context.Context, who tenancy.Principal, ref lease.Ref, lines []joblog.Line) (lease.Status, error) {
	if err := errors.Join(lease.RequireAgent(who), ref.Check()); err != nil {
		return lease.Status{}, err
	}
	if err := checkLines(lines); err != nil {
		return lease.Status{}, err
	}
	var status lease.Status
	var job ids.ID
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		agent, err := lease.TouchTx(ctx, tx, who)
		if err != nil {
			return err
		}
		id, key, hasSecrets, err := jobOfLog(ctx, tx, who.Workspace, ref.Job)
		if err != nil {
			return err
		}
		job = id
		written := lines
		if hasSecrets {
			red, err := s.jobs.Secrets.RedactorTx(ctx, tx, who.Workspace, job)
			if err != nil {
				return err
			}
			written = redactLines(red, lines)
		}
		var room logRoom
		status, room, err = logLeaseTx(ctx, tx, who, job, ref, totalSize(written), lease.Unasked(agent.Draining))
		if fault.Is(err, fault.AlreadyEnded) {
			status, err = knownLinesTx(ctx, tx, who, job, ref.Epoch, written, err)
		} else if err == nil {
			status.LinesLeftOut, err = room.appendTx(ctx, tx, who, job, ref.Epoch, written)
		}
		status.Job = key
		return err
	})
	if err == nil {
		s.wake.Publish(joblog.Topic(who.Workspace, job))
	}
	return status, err
}

// logLeaseTx locks the lease that lines are written under, and counts their bytes. It
// stays until they are committed, and the next writer of the job takes its ids only
// then: readers who go on from an id skip nothing.
func logLeaseTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, ref lease.Ref, bytes int64, unasked string) (lease.Status,
	logRoom, error) {
	status, room, held, err := lockLog(ctx, tx, who, job, ref.Epoch, bytes)
	if err != nil {
		return lease.Status{}, logRoom{}, err
	}
	if held {
		status.Directive = cmp.Or(status.Directive, unasked)
		return status, room, nil
	}
	now, err := jobs.LoadTx(ctx, tx, who.Workspace, job.String())
	if err != nil {
		return lease.Status{}, logRoom{}, err
	}
	return lease.Status{}, logRoom{}, lease.Conflict(ctx, tx, who, now, ref.Epoch)
}

// knownLinesTx answers lines that come after their agent has ended the lease: they
// may be those of a call whose answer was lost. Lines that are not kept get the
// refusal.
func knownLinesTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, epoch int64, lines []joblog.Line,
	refusal error) (lease.Status, error) {
	fresh, err := freshTx(ctx, tx, who, job, epoch, lines)
	if err != nil {
		return lease.Status{}, err
	}
	if len(fresh) > 0 {
		return lease.Status{}, refusal
	}
	return lease.Status{Epoch: epoch, Directive: lease.Continue}, nil
}

// checkLines refuses what the log cannot keep; a field is named lines[3].message.
func checkLines(lines []joblog.Line) error {
	if len(lines) < 1 || len(lines) > maxLines {
		return fault.Invalid("lines", "It must have 1 to %d lines (it has %d).", maxLines, len(lines))
	}
	p := fault.Problems{}
	for i, l := range lines {
		at := fmt.Sprintf("lines[%d].", i)
		if !slices.Contains(joblog.Levels, l.Level) {
			p.Add(at+"level", "It must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL.")
		}
		p.Line(at+"id", l.LineID, maxLineID)
		p.Text(at+"event", l.Event, maxLogEvent)
		p.Text(at+"message", l.Message, lease.MaxLogMessage)
		if problem := detailsProblem(l.Details); problem != "" {
			p.Add(at+"details", "%s", problem)
		}
		// RFC 3339 can write no other year.
		if l.At != nil && (l.At.UTC().Year() < 1 || l.At.UTC().Year() > 9999) {
			p.Add(at+"at", "Its year must be 1 to 9999 (it is %d).", l.At.UTC().Year())
		}
		if len(p) >= maxLogProblems {
			break
		}
	}
	return p.Err()
}

// detailsProblem says why details cannot be kept, "" where they can.
func detailsProblem(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var object map[string]json.RawMessage
	switch {
	case len(raw) > maxLogDetails:
		return fmt.Sprintf("It must have at most %d bytes (it has %d).", maxLogDetails, len(raw))
	case json.Unmarshal(raw, &object) != nil || object == nil:
		return "It must be a JSON object."
	case bytes.Contains(bytes.ReplaceAll(raw, []byte(`\\`), nil), []byte(`\u0000`)):
		return "It must hold text only: UTF-8, without NUL characters."
	}
	return ""
}

// WatchLogs notifies of lines that are written to a job's log, by any process:
// written gets a token for one or many of them, and one now and then for none.
// cancel ends it.
func (s *Service) WatchLogs(workspace, job ids.ID) (written <-chan struct{}, cancel func()) {
	return s.watch(joblog.Topic(workspace, job))
}

// watch notifies of a topic: the channel gets a token for one or many times that it is published.
func (s *Service) watch(topic string) (published <-chan struct{}, cancel func()) {
	wake := make(chan struct{}, 1)
	return wake, s.wake.Subscribe(topic, func(string) {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
}
