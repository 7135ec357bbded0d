package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
)

// usageEntry returns an entry as the API takes it.
func usageEntry(e transcript.Entry) api.UsageEntry {
	out := api.UsageEntry{
		ID:                 e.ID,
		Provider:           e.Provider,
		Model:              e.Model,
		ProviderSession:    text(e.Session),
		At:                 e.At,
		InputTokens:        e.Input,
		OutputTokens:       e.Output,
		CacheReadTokens:    &e.CacheRead,
		CacheWriteTokens:   &e.CacheWrite,
		CacheWrite1HTokens: &e.CacheWrite1h,
	}
	if e.Cost != "" {
		out.CostUSD = json.RawMessage(`"` + e.Cost + `"`)
	}
	return out
}

// refusedUsage returns the entries that the server refused in an answer that is a success
// otherwise, in words: what they used is missing in the costs of the job.
func refusedUsage(results *api.UsageResults) (list []string) {
	if results == nil {
		return nil
	}
	for _, r := range *results {
		if r.Status != api.UsageResultStatusRefused {
			continue
		}
		why := said(r.Message)
		if r.Fields != nil {
			for _, field := range slices.Sorted(maps.Keys(*r.Fields)) {
				why += fmt.Sprintf(" %s: %s", field, (*r.Fields)[field])
			}
		}
		list = append(list, fmt.Sprintf("The usage %s was refused: %s", r.ID, why))
	}
	return list
}

// sendUsage reports usage, and returns in words which entries the server refused. A call that is
// refused for its form is made again in halves, so that the entries beside the bad one count. The
// error says that the server has not decided.
func sendUsage(ctx context.Context, to *api.Client, report api.UsageReport) (refused []string, err error) {
	answer, err := to.ReportUsageWithResponse(ctx, report)
	switch {
	case err == nil:
		return refusedUsage(&answer.JSON200.Results), nil
	case !api.Decided(err):
		return nil, err
	case len(report.Entries) < 2 || !isRefusedForForm(err):
		for _, e := range report.Entries {
			refused = append(refused, fmt.Sprintf("The usage %s was refused: %v", e.ID, err))
		}
		return refused, nil
	}
	for half := range slices.Chunk(report.Entries, (len(report.Entries)+1)/2) {
		report.Entries = half
		more, err := sendUsage(ctx, to, report)
		if err != nil {
			return nil, err
		}
		refused = append(refused, more...)
	}
	return refused, nil
}

// countRefused counts entries of usage that were refused as errors, and logs each.
func (w *Worker) countRefused(job string, refused []string) {
	for _, why := range refused {
		w.Log.Error(why, "job", job, "refused", w.refused.Add(1))
	}
}
