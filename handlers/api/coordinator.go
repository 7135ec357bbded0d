package api

import (
	"context"
	"strconv"

	"github.com/fleetboard/fleetboard/internal/coordinator"
	"github.com/fleetboard/fleetboard/internal/dispatch/recovery"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// statusHandlers answer the calls about the coordinator and the numbers of a workspace.
type statusHandlers struct {
	coordinator coordinatorReader
	recovery    recoverer
	jobs        jobCounter
	fleet       healthCounter
}

type coordinatorReader interface {
	Status(ctx context.Context) (coordinator.Status, error)
	Logs(ctx context.Context, who tenancy.Principal, f coordinator.LogFilter) (list []coordinator.LogLine, next int64, err error)
}

type recoverer interface {
	Recover(ctx context.Context, who tenancy.Principal) (recovery.Counts, error)
}

type jobCounter interface {
	Stats(ctx context.Context, who tenancy.Principal) (jobs.Stats, error)
}

type healthCounter interface {
	ByHealth(ctx context.Context, who tenancy.Principal) (map[fleet.Health]int, error)
}

// GetCoordinatorStatus says who coordinates, and how jobs and agents are.
func (s *statusHandlers) GetCoordinatorStatus(ctx context.Context, _ GetCoordinatorStatusRequestObject) (
	GetCoordinatorStatusResponseObject, error,
) {
	status, err := s.coordinator.Status(ctx)
	if err != nil {
		return nil, err
	}
	stats, err := s.jobs.Stats(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	healths, err := s.fleet.ByHealth(ctx, principal(ctx))
	agents := map[string]int{}
	for health, n := range healths {
		agents[string(health)] = n
	}
	return GetCoordinatorStatus200JSONResponse{Active: status.Active, InstanceID: status.Holder, Term: status.Term,
		ExpiresAt: utcOrNil(status.ExpiresAt), LastCycleAt: utcOrNil(status.LastCycleAt), CycleCount: status.Cycles,
		Stats: status.Stats, JobsByStatus: counts(stats.ByStatus), AgentsByHealth: agents}, err
}

// Recover does the coordinator's work in the workspace once.
func (s *statusHandlers) Recover(ctx context.Context, _ RecoverRequestObject) (RecoverResponseObject, error) {
	did, err := s.recovery.Recover(ctx, principal(ctx))
	return Recover200JSONResponse{LeasesTakenBack: did.TakenBack, JobsPromoted: did.Promoted, Warned: did.Warned,
		TimedOut: did.TimedOut, CyclesFailed: did.CyclesFailed}, err
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
	found, last, err := s.coordinator.Logs(ctx, principal(ctx), coordinator.LogFilter{Level: string(value(r.Params.Level)), Before: before,
		Limit: limit(r.Params.Limit)})
	next := ""
	if last > 0 {
		next = strconv.FormatInt(last, 10)
	}
	return ListCoordinatorLogs200JSONResponse{Items: models(found, coordinatorLineModel), NextCursor: next}, err
}

// GetStats counts the workspace's jobs.
func (s *statusHandlers) GetStats(ctx context.Context, _ GetStatsRequestObject) (GetStatsResponseObject, error) {
	stats, err := s.jobs.Stats(ctx, principal(ctx))
	return GetStats200JSONResponse(statsModel(stats)), err
}

func coordinatorLineModel(l coordinator.LogLine) CoordinatorLogLine {
	return CoordinatorLogLine{ID: l.ID, At: l.At.UTC(), InstanceID: l.InstanceID, Term: l.Term, Level: LogLevel(l.Level),
		Message: l.Message, Details: object(l.Details)}
}
