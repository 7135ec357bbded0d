package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"

	"github.com/getkin/kin-openapi/openapi3"
	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/handlers/api/schema"
	"github.com/fleetboard/fleetboard/handlers/status"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// batchAtOnce is how many reports of a batch are carried out at the same moment.
const batchAtOnce = 64

// batchVerb is a call that a batch may hold: which one it is, and how it is carried
// out with the body that it has alone.
type batchVerb struct {
	operation string
	carryOut  func(s *reportHandlers, ctx context.Context, body []byte) (any, error)
}

var batchVerbs = map[string]batchVerb{
	"start": {"startJob", func(s *reportHandlers, ctx context.Context, body []byte) (any, error) {
		return withBody(body, func(b *StartJobJSONRequestBody) (any, error) { return s.StartJob(ctx, StartJobRequestObject{b}) })
	}},
	"progress": {"reportProgress", func(s *reportHandlers, ctx context.Context, body []byte) (any, error) {
		return withBody(body, func(b *ReportProgressJSONRequestBody) (any, error) {
			return s.ReportProgress(ctx, ReportProgressRequestObject{b})
		})
	}},
	"renew": {"renewLease", func(s *reportHandlers, ctx context.Context, body []byte) (any, error) {
		return withBody(body, func(b *RenewLeaseJSONRequestBody) (any, error) { return s.RenewLease(ctx, RenewLeaseRequestObject{b}) })
	}},
	"logs": {"writeLogs", func(s *reportHandlers, ctx context.Context, body []byte) (any, error) {
		return withBody(body, func(b *WriteLogsJSONRequestBody) (any, error) { return s.WriteLogs(ctx, WriteLogsRequestObject{b}) })
	}},
	"usage": {"reportUsage", func(s *reportHandlers, ctx context.Context, body []byte) (any, error) {
		return withBody(body, func(b *ReportUsageJSONRequestBody) (any, error) {
			return s.ReportUsage(ctx, ReportUsageRequestObject{b})
		})
	}},
	"complete": {"completeJob", func(s *reportHandlers, ctx context.Context, body []byte) (any, error) {
		return withBody(body, func(b *CompleteJobJSONRequestBody) (any, error) {
			return s.CompleteJob(ctx, CompleteJobRequestObject{b})
		})
	}},
	"fail": {"failJob", func(s *reportHandlers, ctx context.Context, body []byte) (any, error) {
		return withBody(body, func(b *FailJobJSONRequestBody) (any, error) { return s.FailJob(ctx, FailJobRequestObject{b}) })
	}},
	"release": {"releaseLease", func(s *reportHandlers, ctx context.Context, body []byte) (any, error) {
		return withBody(body, func(b *ReleaseLeaseJSONRequestBody) (any, error) {
			return s.ReleaseLease(ctx, ReleaseLeaseRequestObject{b})
		})
	}},
	"ask": {"askQuestion", func(s *reportHandlers, ctx context.Context, body []byte) (any, error) {
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

// batchReport is an item of a batch: a verb, beside the body that its call has alone.
type batchReport struct {
	verb string
	job  string
	next bool // it wants something for the seat that becomes free
	raw  json.RawMessage
}

// parseReport reads an item; the batch as a whole was checked.
func parseReport(raw json.RawMessage) (r batchReport, err error) {
	fields := map[string]json.RawMessage{} // and no struct, which would take keys in other letters as well
	if err = json.Unmarshal(raw, &fields); err != nil {
		return r, err
	}
	r.raw = raw
	_, r.next = fields["next"]
	return r, errors.Join(json.Unmarshal(fields["verb"], &r.verb), json.Unmarshal(fields["job"], &r.job))
}

// parseReports reads the items of a batch. One of them may claim the next jobs: an answer has
// no more jobs than that of a claim.
func parseReports(items []json.RawMessage) ([]batchReport, error) {
	list, asked := make([]batchReport, len(items)), false
	for i, raw := range items {
		var err error
		if list[i], err = parseReport(raw); err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
		if asked && list[i].next {
			return nil, fault.Invalid(fmt.Sprintf("items[%d].next", i), "It may stand in one item of a batch.")
		}
		asked = asked || list[i].next
	}
	return list, nil
}

// reportSchemas returns the bodies of the verbs, each with the verb beside.
func reportSchemas(all map[string]operation) map[string]*openapi3.Schema {
	schemas := map[string]*openapi3.Schema{}
	for verb, v := range batchVerbs {
		body := *all[v.operation].body
		body.Properties = maps.Clone(body.Properties)
		body.Properties["verb"] = openapi3.NewStringSchema().NewRef()
		schemas[verb] = &body
	}
	return schemas
}

// ReportBatch carries out several reports: those on one job in their order, the
// others at the same time, so that they are written together.
func (s *reportHandlers) ReportBatch(ctx context.Context, r ReportBatchRequestObject) (ReportBatchResponseObject, error) {
	list, err := parseReports(r.Body.Items)
	if err != nil {
		return nil, err
	}
	answers, ofJob := make([]BatchItemAnswer, len(list)), map[string][]int{}
	for i, report := range list {
		ofJob[report.job] = append(ofJob[report.job], i)
	}
	var reports errgroup.Group
	reports.SetLimit(batchAtOnce)
	for _, places := range ofJob {
		reports.Go(func() (err error) {
			for _, i := range places {
				if answers[i], err = s.batchItem(ctx, list[i]); err != nil {
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
func (s *reportHandlers) batchItem(ctx context.Context, r batchReport) (BatchItemAnswer, error) {
	answer, err := s.carryOut(ctx, r)
	httpStatus := http.StatusOK
	if err != nil {
		refusal := fault.From(err)
		httpStatus = status.Of(refusal.Code)
		if httpStatus >= http.StatusInternalServerError && ctx.Err() == nil {
			s.Log.LogAttrs(ctx, logLevel(refusal.Code), "report of a batch failed",
				slog.String("request_id", callFrom(ctx).requestID), slog.Any("error", err))
		}
		answer = problem(refusal, callFrom(ctx).requestID)
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return BatchItemAnswer{}, fmt.Errorf("encode answer: %w", err)
	}
	return BatchItemAnswer{Status: httpStatus, Body: body}, nil
}

// carryOut returns the call that a report is. A panic is the report's error only.
func (s *reportHandlers) carryOut(ctx context.Context, r batchReport) (answer any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	body, err := schema.Decode(r.raw, s.reports[r.verb])
	if err != nil {
		return nil, err
	}
	return batchVerbs[r.verb].carryOut(s, ctx, body)
}
