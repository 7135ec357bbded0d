package spend

import (
	"context"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
)

var q = dbsqlc.New()

// Outcome is what became of an entry.
type Outcome struct {
	// Recorded is set where it was the first one with its id; the others are
	// duplicates.
	Recorded bool
	// Differs is set for a duplicate of which the first one has other numbers: those
	// count.
	Differs bool
}

// numbers are what is counted of an entry.
type numbers struct{ input, output, cacheRead, cacheWrite, cost int64 }

// RecordTx adds the entries that are not there yet and raises the sums of their
// leases, all or nothing; the outcomes are in the order of the entries. Each entry
// has passed Check and says for whom it is. Of several with one id the first
// counts, also in one list. It waits for whoever adds one of the same entries, or
// to the same sums, at this moment.
func RecordTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Entry) ([]Outcome, error) {
	outcomes := make([]Outcome, len(list))
	params := dbsqlc.UsageRecordParams{WorkspaceID: workspace}
	first := map[string]int{}
	told := make([]numbers, len(list))
	for i, e := range list {
		cost, err := e.cost()
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		told[i] = numbers{e.Input, e.Output, e.CacheRead, e.CacheWrite, int64(cost)}
		if _, again := first[e.ID]; !again {
			first[e.ID] = i
			e.appendTo(&params, cost)
		}
	}
	if len(first) == 0 {
		return outcomes, nil
	}
	added, err := q.UsageRecord(ctx, tx, params)
	if err != nil {
		return nil, fmt.Errorf("record usage: %w", err)
	}
	for _, id := range added {
		outcomes[first[id]].Recorded = true
	}
	kept, err := keptTx(ctx, tx, workspace, outcomes, first)
	if err != nil {
		return nil, err
	}
	for i, e := range list {
		if outcomes[i].Recorded {
			continue
		}
		stands, before := kept[e.ID]
		if !before {
			stands = told[first[e.ID]]
		}
		outcomes[i].Differs = stands != told[i]
	}
	return outcomes, nil
}

// keptTx reads the numbers of the entries that were there before.
func keptTx(ctx context.Context, tx db.Tx, workspace ids.ID, outcomes []Outcome, first map[string]int) (map[string]numbers, error) {
	var known []string
	for id, i := range first {
		if !outcomes[i].Recorded {
			known = append(known, id)
		}
	}
	if len(known) == 0 {
		return nil, nil
	}
	rows, err := q.UsageNumbers(ctx, tx, dbsqlc.UsageNumbersParams{WorkspaceID: workspace, Ids: known})
	if err != nil {
		return nil, fmt.Errorf("read usage: %w", err)
	}
	kept := make(map[string]numbers, len(rows))
	for _, r := range rows {
		kept[r.ID] = numbers{r.InputTokens, r.OutputTokens, r.CacheReadTokens, r.CacheWriteTokens, r.CostNanos}
	}
	return kept, nil
}

func (e Entry) appendTo(p *dbsqlc.UsageRecordParams, cost Nanos) {
	p.Ids, p.JobIds, p.Epochs = append(p.Ids, e.ID), append(p.JobIds, e.Job), append(p.Epochs, e.Epoch)
	p.AgentIds, p.ProductIds = append(p.AgentIds, e.Agent), append(p.ProductIds, e.Product)
	p.Providers, p.Models = append(p.Providers, e.Provider), append(p.Models, e.Model)
	p.ProviderSessions, p.Operations = append(p.ProviderSessions, e.Session), append(p.Operations, e.Operation)
	p.InputTokens, p.OutputTokens = append(p.InputTokens, e.Input), append(p.OutputTokens, e.Output)
	p.CacheReadTokens, p.CacheWriteTokens = append(p.CacheReadTokens, e.CacheRead), append(p.CacheWriteTokens, e.CacheWrite)
	p.CostNanos, p.Ats = append(p.CostNanos, int64(cost)), append(p.Ats, e.At)
}
