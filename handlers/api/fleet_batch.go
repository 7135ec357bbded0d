package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"golang.org/x/sync/errgroup"

	"fleetboard/internal/fault"
)

// batchAtOnce is how many reports of a batch are carried out at the same moment.
const batchAtOnce = 64

// batchVerb is a call that a batch may hold: which one it is, and how it is carried
// out with the body that it has alone.
type batchVerb struct {
	operation string
	carryOut  func(s *Server, ctx context.Context, body []byte) (any, error)
}

var batchVerbs = map[string]batchVerb{
	"start": {"startJob", func(s *Server, ctx context.Context, body []byte) (any, error) {
		return withBody(body, func(b *StartJobJSONRequestBody) (any, error) { return s.StartJob(ctx, StartJobRequestObject{b}) })
	}},
	"progress": {"reportProgress", func(s *Server, ctx context.Context, body []byte) (any, error) {
		return withBody(body, func(b *ReportProgressJSONRequestBody) (any, error) {
			return s.ReportProgress(ctx, ReportProgressRequestObject{b})
		})
	}},
	"renew": {"renewLease", func(s *Server, ctx context.Context, body []byte) (any, error) {
		return withBody(body, func(b *RenewLeaseJSONRequestBody) (any, error) { return s.RenewLease(ctx, RenewLeaseRequestObject{b}) })
	}},
	"logs": {"writeLogs", func(s *Server, ctx context.Context, body []byte) (any, error) {
		return withBody(body, func(b *WriteLogsJSONRequestBody) (any, error) { return s.WriteLogs(ctx, WriteLogsRequestObject{b}) })
	}},
	"usage": {"reportUsage", func(s *Server, ctx context.Context, body []byte) (any, error) {
		return withBody(body, func(b *ReportUsageJSONRequestBody) (any, error) {
			return s.ReportUsage(ctx, ReportUsageRequestObject{b})
		})
	}},
	"complete": {"completeJob", func(s *Server, ctx context.Context, body []byte) (any, error) {
		return withBody(body, func(b *CompleteJobJSONRequestBody) (any, error) {
			return s.CompleteJob(ctx, CompleteJobRequestObject{b})
		})
	}},
	"fail": {"failJob", func(s *Server, ctx context.Context, body []byte) (any, error) {
		return withBody(body, func(b *FailJobJSONRequestBody) (any, error) { return s.FailJob(ctx, FailJobRequestObject{b}) })
	}},
	"release": {"releaseLease", func(s *Server, ctx context.Context, body []byte) (any, error) {
		return withBody(body, func(b *ReleaseLeaseJSONRequestBody) (any, error) {
			return s.ReleaseLease(ctx, ReleaseLeaseRequestObject{b})
		})
	}},
	"ask": {"askQuestion", func(s *Server, ctx context.Context, body []byte) (any, error) {
		return withBody(body, func(b *AskQuestionJSONRequestBody) (any, error) {
			return s.AskQuestion(ctx, AskQuestionRequestObject{b})
		})
	}},
}

func withBody[B any](body []byte, call func(*B) (any, error)) (any, error) {
	var b B
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, fault.Wrap(err, fault.Malformed, "The report does not have the form of its verb.")
	}
	return call(&b)
}

// ReportBatch carries out several reports: those on one job in their order, the
// others at the same time, so that they are written together.
func (s *Server) ReportBatch(ctx context.Context, r ReportBatchRequestObject) (ReportBatchResponseObject, error) {
	answers := make([]BatchItemAnswer, len(r.Body.Items))
	ofJob := map[string][]int{}
	for i, raw := range r.Body.Items {
		var ref LeaseRef
		if err := json.Unmarshal(raw, &ref); err != nil {
			return nil, fmt.Errorf("checked item of a batch: %w", err)
		}
		ofJob[ref.Job] = append(ofJob[ref.Job], i)
	}
	var reports errgroup.Group
	reports.SetLimit(batchAtOnce)
	for _, list := range ofJob {
		reports.Go(func() (err error) {
			for _, i := range list {
				if answers[i], err = s.batchItem(ctx, r.Body.Items[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := reports.Wait(); err != nil {
		return nil, err
	}
	return ReportBatch200JSONResponse{Items: answers}, nil
}

// batchItem carries out one report and gives its answer.
func (s *Server) batchItem(ctx context.Context, raw json.RawMessage) (BatchItemAnswer, error) {
	answer, err := s.carryOut(ctx, raw)
	status := http.StatusOK
	if err != nil {
		refusal := fault.From(err)
		status = refusal.Code.Entry().Status
		if status >= http.StatusInternalServerError && ctx.Err() == nil {
			s.log.LogAttrs(ctx, levelOf(refusal.Code), "report of a batch failed", slog.String("request_id", callOf(ctx).requestID), slog.Any("error", err))
		}
		answer = problem(refusal, callOf(ctx).requestID)
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return BatchItemAnswer{}, fmt.Errorf("encode answer: %w", err)
	}
	return BatchItemAnswer{Status: status, Body: body}, nil
}

// carryOut is the call that a report is. A panic is the report's error only.
func (s *Server) carryOut(ctx context.Context, raw json.RawMessage) (answer any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	var fields map[string]json.RawMessage
	var name struct {
		Verb string `json:"verb"`
	}
	if err := errors.Join(json.Unmarshal(raw, &fields), json.Unmarshal(raw, &name)); err != nil {
		return nil, err
	}
	delete(fields, "verb")
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	verb := batchVerbs[name.Verb]
	if body, err = decode(body, s.bodies[verb.operation]); err != nil {
		return nil, err
	}
	return verb.carryOut(s, ctx, body)
}
