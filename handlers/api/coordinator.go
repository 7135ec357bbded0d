package api

import (
	"context"
	"strconv"

	"github.com/fleetboard/fleetboard/internal/coordinator"
	"github.com/fleetboard/fleetboard/internal/dispatch/recovery"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/leadership/servers"
	"github.com/fleetboard/fleetboard/internal/notifier"
	"github.com/fleetboard/fleetboard/internal/waitlist"
)

// statusHandlers answer the calls about the coordinator and the numbers of a workspace.
type statusHandlers struct{ *Deps }

// GetCoordinatorStatus says who coordinates, and how jobs and agents are.
func (s *statusHandlers) GetCoordinatorStatus(ctx context.Context, _ GetCoordinatorStatusRequestObject) (
	GetCoordinatorStatusResponseObject, error,
) {
	status, err := s.Coordinator.Status(ctx)
	if err != nil {
		return nil, err
	}
	stats, err := s.Jobs.Stats(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	proofs, err := s.Proof.List(ctx)
	if err != nil {
		return nil, err
	}
	losses, err := s.Losses.List(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	healths, err := s.Fleet.ByHealth(ctx, principal(ctx))
	agents := map[string]int{}
	for health, n := range healths {
		agents[string(health)] = n
	}
	return GetCoordinatorStatus200JSONResponse{Active: status.Active, InstanceID: status.Holder, Term: status.Term,
		ExpiresAt: utcOrNil(status.ExpiresAt), LastCycleAt: utcOrNil(status.LastCycleAt), CycleCount: status.Cycles,
		Stats: status.Stats, JobsByStatus: counts(stats.ByStatus), AgentsByHealth: agents,
		Transport: transportModel(s.Coordinator.Transport()), Servers: mapSlice(s.Servers.Live(), serverModel),
		Proofs: mapSlice(proofs, proofModel), Losses: mapSlice(losses, lossModel)}, err
}

func serverModel(l servers.Server) LiveServer {
	return LiveServer{Name: l.Name, Version: l.Version, Since: l.Since.UTC()}
}

func transportModel(t notifier.Status) TransportStatus {
	m := TransportStatus{Name: TransportStatusName(t.Transport), Connected: t.Connected, Fallback: t.Fallback(),
		PollSeconds: int(waitlist.WatchEvery.Seconds())}
	if !t.LastMessageAt.IsZero() {
		m.LastMessageAt = utcOrNil(&t.LastMessageAt)
	}
	return m
}

// Recovered is what the coordinator's work did.
type Recovered = recovery.Counts

// Recover does the coordinator's work in the workspace once.
func (s *statusHandlers) Recover(ctx context.Context, _ RecoverRequestObject) (RecoverResponseObject, error) {
	did, err := s.Dispatch.Recover(ctx, principal(ctx))
	return Recover200JSONResponse(did), err
}

// ListCoordinatorLogs gives a page of what the coordinator did, newest first.
func (s *statusHandlers) ListCoordinatorLogs(ctx context.Context, r ListCoordinatorLogsRequestObject) (
	ListCoordinatorLogsResponseObject, error,
) {
	var before int64
	if cursor := value(r.Params.Cursor); cursor != "" {
		var err error
		if before, err = strconv.ParseInt(cursor, 10, 64); err != nil || before < 1 {
			return nil, fault.Invalid("cursor", "It must be one that this server gave out.")
		}
	}
	found, last, err := s.Coordinator.Logs(ctx, principal(ctx), coordinator.LogFilter{Level: string(value(r.Params.Level)), Before: before,
		Limit: limit(r.Params.Limit)})
	next := ""
	if last > 0 {
		next = strconv.FormatInt(last, 10)
	}
	return ListCoordinatorLogs200JSONResponse{Items: mapSlice(found, coordinatorLineModel), NextCursor: next}, err
}

// GetStats counts the workspace's jobs.
func (s *statusHandlers) GetStats(ctx context.Context, _ GetStatsRequestObject) (GetStatsResponseObject, error) {
	stats, err := s.Jobs.Stats(ctx, principal(ctx))
	return GetStats200JSONResponse(statsModel(stats)), err
}

func coordinatorLineModel(l coordinator.LogLine) CoordinatorLogLine {
	l.Details = object(l.Details)
	return l
}
