package api

import (
	"context"

	"fleetboard/internal/dispatch/lease"
	"fleetboard/internal/jobs/joblog"
)

// WriteLogs adds lines to a job's log.
func (s *reportHandlers) WriteLogs(ctx context.Context, r WriteLogsRequestObject) (WriteLogsResponseObject, error) {
	lines := make([]joblog.Line, 0, len(r.Body.Lines))
	for _, l := range r.Body.Lines {
		lines = append(lines, joblog.Line{LineID: value(l.ID), Level: joblog.Level(l.Level), Event: value(l.Event), Message: l.Message,
			Details: l.Details, At: l.At})
	}
	standing, err := s.work.WriteLogs(ctx, whoOf(ctx), lease.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch}, lines)
	return WriteLogs200JSONResponse(standingModel(standing)), err
}

func logModel(l joblog.Line) LogLine {
	return LogLine{ID: l.ID, Epoch: l.Epoch, Agent: l.Agent, Level: LogLevel(l.Level), Event: l.Event, Message: l.Message,
		Details: object(l.Details), At: utcOrNil(l.At), ReceivedAt: l.ReceivedAt.UTC()}
}
