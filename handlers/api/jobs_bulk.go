package api

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/fleetboard/fleetboard/handlers/status"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// bulkAction is a person's verb, and the field that it needs.
type bulkAction struct {
	verb  jobs.Trigger
	needs string // reason, answer or none
}

var bulkActions = map[BulkActionName]bulkAction{
	"block": {jobs.ByBlock, "reason"}, "unblock": {jobs.ByUnblock, ""}, "pause": {jobs.ByPause, ""}, "resume": {jobs.ByResume, ""},
	"cancel": {jobs.ByCancel, "reason"}, "complete": {jobs.ByFinish, "reason"}, "retry": {jobs.ByRetry, ""},
	"approve": {jobs.ByApprove, ""}, "reject": {jobs.ByReject, "reason"}, "merge": {jobs.ByMerge, ""},
	"merge-failed": {jobs.ByMergeFail, "reason"}, "archive": {jobs.ByArchive, ""}, "release": {jobs.ByRelease, "reason"},
	"answer": {jobs.ByAnswer, "answer"},
}

// BulkJobs does one action with many jobs, each by itself.
func (s *actionHandlers) BulkJobs(ctx context.Context, r BulkJobsRequestObject) (BulkJobsResponseObject, error) {
	action, err := parseBulk(*r.Body)
	if err != nil {
		return nil, err
	}
	if err := s.Jobs.KeepKey(ctx, principal(ctx), callFrom(ctx).once); err != nil {
		return nil, err
	}
	// One after the other: a bulk has one turn, and others' claims do not stand behind it.
	answers := make([]BulkItemAnswer, len(r.Body.Jobs))
	for i, job := range r.Body.Jobs {
		if answers[i], err = s.bulkItem(ctx, job, action); err != nil {
			return nil, err
		}
	}
	return BulkJobs200JSONResponse{Body: BulkAnswer{Items: answers}}, nil
}

// parseBulk returns the action that a bulk requests.
func parseBulk(in Bulk) (actions.Action, error) {
	a := bulkActions[in.Action]
	problems, seen := fault.Problems{}, map[string]bool{}
	for i, job := range in.Jobs {
		if seen[job] {
			problems[fmt.Sprintf("jobs[%d]", i)] = "It must be named once."
		}
		seen[job] = true
	}
	for field, given := range map[string]*string{"reason": in.Reason, "answer": in.Answer} {
		switch {
		case given == nil && a.needs == field:
			problems[field] = fmt.Sprintf("It must be given with the action %s.", in.Action)
		case given != nil && a.needs != field:
			problems[field] = fmt.Sprintf("It must be left out with the action %s.", in.Action)
		}
	}
	return actions.Action{Verb: a.verb, Reason: value(in.Reason) + value(in.Answer)}, problems.Err()
}

// bulkItem carries the action out with one job and gives its answer.
func (s *actionHandlers) bulkItem(ctx context.Context, job string, a actions.Action) (BulkItemAnswer, error) {
	var answer any
	httpStatus := http.StatusOK
	a.Once = callFrom(ctx).once.Part(job)
	changed, err := s.Dispatch.Act(ctx, principal(ctx), job, a)
	answer = jobModel(changed)
	if err != nil {
		refusal := fault.From(err)
		httpStatus = status.Of(refusal.Code)
		if httpStatus >= http.StatusInternalServerError && ctx.Err() == nil {
			s.Log.LogAttrs(ctx, logLevel(refusal.Code), "action of a bulk failed", slog.String("request_id", callFrom(ctx).requestID),
				slog.Any("error", err))
		}
		answer = problem(refusal, callFrom(ctx).requestID)
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return BulkItemAnswer{}, fmt.Errorf("encode answer: %w", err)
	}
	return BulkItemAnswer{Job: job, Status: httpStatus, Body: body}, nil
}
