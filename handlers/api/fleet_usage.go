package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/fleetboard/fleetboard/internal/dispatch"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/spend"
)

// ReportUsage says what models were used for.
func (s *reportHandlers) ReportUsage(ctx context.Context, r ReportUsageRequestObject) (ReportUsageResponseObject, error) {
	lines, err := usageLines(lease.Ref{Job: value(r.Body.Job), Epoch: value(r.Body.Epoch)}, r.Body.Entries)
	if err != nil {
		return nil, err
	}
	results, err := recordUsage(ctx, s.Dispatch, lines)
	return ReportUsage200JSONResponse{Results: results}, err
}

// recordUsage books usage, and says what became of each entry.
func recordUsage(ctx context.Context, to *dispatch.Service, lines []report.UsageLine) ([]UsageResult, error) {
	answers, err := to.RecordUsage(ctx, principal(ctx), lines)
	if err != nil {
		return nil, err
	}
	results := make([]UsageResult, 0, len(answers))
	for i, a := range answers {
		results = append(results, usageResult(lines[i].Entry.ID, a))
	}
	return results, nil
}

// reportUsage books the usage that comes with another report on a lease, before that is
// carried out: the money was spent whatever becomes of the report. Without any it does
// nothing.
func (s *reportHandlers) reportUsage(ctx context.Context, ref lease.Ref, entries *UsageEntries) (*UsageResults, error) {
	if len(value(entries)) == 0 {
		return nil, nil
	}
	lines, err := usageLines(ref, *entries)
	if err != nil {
		return nil, err
	}
	results, err := recordUsage(ctx, s.Dispatch, lines)
	return &results, err
}

// usageLines are entries of usage; the lease is that of those that name none.
func usageLines(of lease.Ref, entries []UsageEntry) ([]report.UsageLine, error) {
	lines := make([]report.UsageLine, 0, len(entries))
	for i, e := range entries {
		cost, err := amount(e.CostUSD)
		if err != nil {
			return nil, fmt.Errorf("checked cost of entry %d: %w", i, err)
		}
		lines = append(lines, report.UsageLine{
			Lease: lease.Ref{Job: cmp.Or(value(e.Job), of.Job), Epoch: cmp.Or(value(e.Epoch), of.Epoch)},
			Entry: spend.Entry{ID: e.ID, Provider: e.Provider, Model: e.Model, Session: value(e.ProviderSession),
				Input: e.InputTokens, Output: e.OutputTokens, CacheRead: value(e.CacheReadTokens), CacheWrite: value(e.CacheWriteTokens),
				CacheWrite1h: value(e.CacheWrite1HTokens), CostUSD: cost, Batch: value(e.Batch), Operation: value(e.Operation),
				At: e.At}})
	}
	return lines, nil
}

// amount returns the text of a number, also of one that stands in a text; nil where none
// was sent.
func amount(raw json.RawMessage) (*string, error) {
	text := string(raw)
	switch {
	case text == "":
		return nil, nil
	case text[0] != '"':
		return &text, nil
	}
	err := json.Unmarshal(raw, &text)
	return &text, err
}

func usageResult(id string, a report.UsageAnswer) UsageResult {
	out := UsageResult{ID: id, Status: UsageResultStatus(a.Outcome)}
	if a.Refused != nil {
		code := ProblemCode(a.Refused.Code)
		out.Status, out.Code, out.Message = UsageResultStatusRefused, &code, &a.Refused.Message
		if len(a.Refused.Fields) > 0 {
			out.Fields = &a.Refused.Fields
		}
	}
	return out
}

// Usage is what models were used for, on the wire.
type Usage struct {
	CostUSD *spend.Nanos `json:"cost_usd"`
	spend.Usage
}

func usageModel(u spend.Usage) Usage {
	m := Usage{Usage: u}
	if cost, known := u.Cost(); known {
		m.CostUSD = &cost
	}
	return m
}

// CheckBudget says before something costly whether the job's budgets have enough left for it.
func (s *reportHandlers) CheckBudget(ctx context.Context, r CheckBudgetRequestObject) (CheckBudgetResponseObject, error) {
	check := report.BudgetCheck{At: string(r.Body.At), ChangedLines: r.Body.ChangedLines}
	if r.Body.EstimateUSD != nil {
		estimate, err := spend.ParseAmount("estimate_usd", *r.Body.EstimateUSD, spend.MaxAmount)
		if err != nil {
			return nil, err
		}
		check.Estimate = &estimate
	}
	a, err := s.Dispatch.CheckBudget(ctx, principal(ctx), lease.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch}, check)
	return CheckBudget200JSONResponse{Directive: Directive(a.Directive), Reason: nilIfZero(a.Reason), Budget: a.Budget,
		RemainingUSD: dollars((*int64)(a.Remaining))}, err
}
