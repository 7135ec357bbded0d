package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"fleetboard/internal/dispatch/lease"
	"fleetboard/internal/dispatch/report"
	"fleetboard/internal/spend"
)

// ReportUsage says what models were used for.
func (s *reportHandlers) ReportUsage(ctx context.Context, r ReportUsageRequestObject) (ReportUsageResponseObject, error) {
	lines := make([]report.UsageLine, 0, len(r.Body.Entries))
	for i, e := range r.Body.Entries {
		cost, err := amount(e.CostUSD)
		if err != nil {
			return nil, fmt.Errorf("checked cost of entry %d: %w", i, err)
		}
		lines = append(lines, report.UsageLine{
			Lease: lease.Ref{Job: cmp.Or(value(e.Job), value(r.Body.Job)), Epoch: cmp.Or(value(e.Epoch), value(r.Body.Epoch))},
			Entry: spend.Entry{ID: e.ID, Provider: e.Provider, Model: e.Model, Session: value(e.ProviderSession),
				Input: e.InputTokens, Output: e.OutputTokens, CacheRead: value(e.CacheReadTokens), CacheWrite: value(e.CacheWriteTokens),
				CacheWrite1h: value(e.CacheWrite1HTokens), CostUSD: cost, Operation: value(e.Operation), At: e.At}})
	}
	answers, err := s.work.RecordUsage(ctx, whoOf(ctx), lines)
	if err != nil {
		return nil, err
	}
	results := make([]UsageResult, 0, len(answers))
	for i, a := range answers {
		results = append(results, usageResult(lines[i].Entry.ID, a))
	}
	return ReportUsage200JSONResponse{Results: results}, nil
}

// amount is the text of a number, also of one that stands in a text; nil where none
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
		out.Status, out.Code, out.Message = Refused, &code, &a.Refused.Message
		if len(a.Refused.Fields) > 0 {
			out.Fields = &a.Refused.Fields
		}
	}
	return out
}

func usageModel(u spend.Usage) Usage {
	m := Usage{Entries: u.Entries, InputTokens: u.Input, OutputTokens: u.Output, CacheReadTokens: u.CacheRead,
		CacheWriteTokens: u.CacheWrite, CacheWrite1HTokens: u.CacheWrite1h, UnpricedEntries: u.Unpriced,
		UnpricedTokens: u.UnpricedTokens, ReportedCostUSD: u.Reported.Fixed(), ImputedUSD: u.Imputed.Fixed()}
	if cost, known := u.Cost(); known {
		number := json.Number(cost.USD())
		m.CostUSD = &number
	}
	return m
}
