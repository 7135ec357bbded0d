package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/jobs/joblog"
	"fleetboard/internal/tenancy"
)

// Limits of a batch of log lines.
const (
	maxLines       = 1000
	maxLogEvent    = 64
	maxLogMessage  = 10_000
	maxLogDetails  = 16 << 10 // bytes
	maxLineID      = 200
	maxLogProblems = 50
)

// WriteLogs adds lines to the log of the job that an agent works on, at most
// 1,000, without the values of the job's secrets. Of a line the server fills in ID,
// Epoch, Agent and ReceivedAt. A line with a LineID that the lease has already is
// kept once; lines that are all kept already may be told after the lease has ended.
// Those beyond the limits of the job's log are left out, and a line says how many.
// Faults as of Progress.
func (s *Service) WriteLogs(ctx context.Context, who tenancy.Principal, ref Ref, lines []joblog.Line) (LeaseStatus, error) {
	if err := errors.Join(requireAgent(who), checkRef(ref)); err != nil {
		return LeaseStatus{}, err
	}
	if err := checkLines(lines); err != nil {
		return LeaseStatus{}, err
	}
	var standing LeaseStatus
	var job ids.ID
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		agent, err := touchTx(ctx, tx, who)
		if err != nil {
			return err
		}
		state, err := leaseState(ctx, tx, who.Workspace, ref.Job)
		if err != nil {
			return err
		}
		job = state.ID
		written := lines
		if state.HasSecrets {
			red, err := s.jobs.Secrets.RedactorTx(ctx, tx, who.Workspace, job)
			if err != nil {
				return err
			}
			written = redactLines(red, lines)
		}
		var room logRoom
		standing, room, err = logLeaseTx(ctx, tx, who, job, ref, sizeOf(written), unasked(agent.Draining))
		if fault.Is(err, fault.AlreadyEnded) {
			standing, err = knownLinesTx(ctx, tx, who, job, ref.Epoch, written, err)
		} else if err == nil {
			standing.LinesLeftOut, err = room.appendTx(ctx, tx, who, job, ref.Epoch, written)
		}
		standing.Job = state.Key
		return err
	})
	if err == nil {
		s.wake.Publish(joblog.Topic(who.Workspace, job))
	}
	return standing, err
}

// logLeaseTx locks the lease that lines are written under, and counts their bytes. It
// stays until they are committed, and the next writer of the job takes its ids only
// then: readers who go on from an id skip nothing.
func logLeaseTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, ref Ref, bytes int64, unasked string) (LeaseStatus,
	logRoom, error) {
	rows, err := q.LogLease(ctx, tx, dbsqlc.LogLeaseParams{WorkspaceID: who.Workspace, JobID: job, Epoch: ref.Epoch, AgentID: who.Agent,
		Bytes: bytes})
	if err != nil {
		return LeaseStatus{}, logRoom{}, fmt.Errorf("lock lease: %w", err)
	}
	if len(rows) == 0 {
		now, err := jobs.LoadTx(ctx, tx, who.Workspace, job.String())
		if err != nil {
			return LeaseStatus{}, logRoom{}, err
		}
		return LeaseStatus{}, logRoom{}, conflict(ctx, tx, who, now, ref.Epoch)
	}
	lease := rows[0]
	return LeaseStatus{Epoch: ref.Epoch, Directive: directiveOr(lease.Directive, unasked),
		Reason: lease.DirectiveReason, ExpiresAt: timePtr(lease.ExpiresAt)}, roomOf(lease, bytes), nil
}

// knownLinesTx answers lines that come after their agent has ended the lease: they
// may be those of a call whose answer was lost. Lines that are not kept get the
// refusal.
func knownLinesTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, epoch int64, lines []joblog.Line,
	refusal error) (LeaseStatus, error) {
	fresh, err := freshTx(ctx, tx, who, job, epoch, lines)
	if err != nil {
		return LeaseStatus{}, err
	}
	if len(fresh) > 0 {
		return LeaseStatus{}, refusal
	}
	return LeaseStatus{Epoch: epoch, Directive: Continue}, nil
}

func appendParams(who tenancy.Principal, job ids.ID, epoch int64, lines []joblog.Line) dbsqlc.LogAppendParams {
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
	return p
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
		p.Text(at+"message", l.Message, maxLogMessage)
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

// WatchLogs tells of lines that are written to a job's log, by any process:
// written gets a token for one or many of them, and one now and then for none.
// cancel ends it.
func (s *Service) WatchLogs(workspace, job ids.ID) (written <-chan struct{}, cancel func()) {
	wake := make(chan struct{}, 1)
	return wake, s.wake.Subscribe(joblog.Topic(workspace, job), func(string) {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
}
