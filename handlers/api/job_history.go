package api

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/jobs/collisions"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/spend"
)

// historyHandlers answer what became of a job and why: its attempts, events and log,
// and the reason why it does not run.
type historyHandlers struct{ *Deps }

// ListAttempts gives a page of a job's attempts, newest first.
func (s *historyHandlers) ListAttempts(ctx context.Context, r ListAttemptsRequestObject) (ListAttemptsResponseObject, error) {
	who := principal(ctx)
	job, err := s.Jobs.Get(ctx, who, r.Job)
	if err != nil {
		return nil, err
	}
	all, err := s.Attempts.Attempts(ctx, who, job.ID.String())
	if err != nil {
		return nil, err
	}
	var unknown error
	shown, next, err := page(all, r.Params.Cursor, r.Params.Limit,
		func(a attempts.Attempt) string { return strconv.FormatInt(a.Epoch, 10) },
		func(a attempts.Attempt, last string) bool {
			epoch, err := strconv.ParseInt(last, 10, 64)
			if err != nil {
				unknown = fault.Invalid("cursor", "It must be one that this server gave out.")
			}
			return a.Epoch < epoch
		})
	if err = errors.Join(err, unknown); err != nil {
		return nil, err
	}
	used, err := s.Dispatch.Usage(ctx, who, job.ID, mapSlice(shown, func(a attempts.Attempt) int64 { return a.Epoch })...)
	return ListAttempts200JSONResponse{NextCursor: next,
		Items: mapSlice(shown, func(a attempts.Attempt) Attempt { return attemptModel(job.Key, a, used.Attempts[a.Epoch]) })}, err
}

// ListAgentAttempts gives a page of an agent's attempts, newest first.
func (s *historyHandlers) ListAgentAttempts(ctx context.Context, r ListAgentAttemptsRequestObject) (
	ListAgentAttemptsResponseObject, error,
) {
	who := principal(ctx)
	agent, err := s.Fleet.Agent(ctx, who, r.Agent)
	if err != nil {
		return nil, err
	}
	found, next, err := s.Attempts.AgentAttempts(ctx, who, agent.ID, attempts.Filter{Outcome: string(value(r.Params.Outcome)),
		Cursor: value(r.Params.Cursor), Limit: limit(r.Params.Limit)})
	if err != nil {
		return nil, err
	}
	leaseOf := func(a attempts.OfAgent) spend.Lease { return spend.Lease{Job: a.JobID, Epoch: a.Epoch} }
	used, err := s.Dispatch.LeaseUsage(ctx, who, mapSlice(found, leaseOf))
	return ListAgentAttempts200JSONResponse{NextCursor: next,
		Items: mapSlice(found, func(a attempts.OfAgent) Attempt { return attemptModel(a.Key, a.Attempt, used[leaseOf(a)]) })}, err
}

// ListJobEvents gives a page of a job's events, newest first.
func (s *historyHandlers) ListJobEvents(ctx context.Context, r ListJobEventsRequestObject) (ListJobEventsResponseObject, error) {
	who := principal(ctx)
	var before int64
	if cursor := value(r.Params.Cursor); cursor != "" {
		var err error
		if before, err = strconv.ParseInt(cursor, 10, 64); err != nil || before < 1 {
			return nil, fault.Invalid("cursor", "It must be one that this server gave out.")
		}
	}
	job, err := s.Jobs.Get(ctx, who, r.Job)
	if err != nil {
		return nil, err
	}
	n := limit(r.Params.Limit)
	found, err := s.Events.OfJob(ctx, who, job.ID, before, n+1)
	if err != nil {
		return nil, err
	}
	next := ""
	if len(found) > n {
		found = found[:n]
		next = strconv.FormatInt(found[n-1].ID, 10)
	}
	return ListJobEvents200JSONResponse{NextCursor: next,
		Items: mapSlice(found, func(e eventlog.Event) Event { return eventModel(e, job.Key) })}, nil
}

// ExplainJob says why a job does not run.
func (s *historyHandlers) ExplainJob(ctx context.Context, r ExplainJobRequestObject) (ExplainJobResponseObject, error) {
	explained, err := s.Screens.Explain(ctx, principal(ctx), r.Job)
	return ExplainJob200JSONResponse(explanationModel(explained)), err
}

// ListJobCollisions gives the jobs that touch the same files as a job.
func (s *historyHandlers) ListJobCollisions(
	ctx context.Context, r ListJobCollisionsRequestObject,
) (ListJobCollisionsResponseObject, error) {
	who := principal(ctx)
	found, err := s.Screens.Collisions(ctx, who, r.Job)
	if err != nil {
		return nil, err
	}
	in := slices.DeleteFunc(found.List, func(c collisions.Collision) bool {
		return len(who.Scope.Products) > 0 && !slices.Contains(who.Scope.Products, c.Product)
	})
	return ListJobCollisions200JSONResponse{FilesTouched: found.Touched, MoreFiles: found.Touched == collisions.MaxTouched,
		Items: mapSlice(in, collisionModel)}, nil
}

func collisionModel(c collisions.Collision) Collision {
	return Collision{Job: c.Job, Agent: c.Agent, Factory: c.Factory, Paths: c.Paths, MorePaths: c.More,
		Since: c.Since.UTC()}
}

// ListJobLogs gives a page of a job's log, newest first.
func (s *historyHandlers) ListJobLogs(ctx context.Context, r ListJobLogsRequestObject) (ListJobLogsResponseObject, error) {
	found, next, err := s.JobLogs.Logs(ctx, principal(ctx), r.Job, joblog.Filter{
		Level: joblog.Level(value(r.Params.Level)), Cursor: value(r.Params.Cursor), Limit: limit(r.Params.Limit)})
	return ListJobLogs200JSONResponse{Items: mapSlice(found, logModel), NextCursor: next}, err
}
