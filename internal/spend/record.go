package spend

import (
	"context"
	"fmt"

	"fleetboard/db"
	"fleetboard/internal/ids"
)

// Outcome is what became of an entry.
type Outcome struct {
	// Recorded is set where it was the first one with its id; the others are
	// duplicates.
	Recorded bool
	// Differs is set for a duplicate of which the first one has other numbers: those
	// count.
	Differs bool
}

// RecordTx adds the entries that are not there yet and raises the sums of their
// leases, all or nothing; the outcomes are in the order of the entries. Each entry
// has passed Check and says for whom it is. Of several with one id the first
// counts, also in one list. It waits for whoever adds one of the same entries, or
// to the same sums, at this moment.
func RecordTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Entry) ([]Outcome, error) {
	outcomes := make([]Outcome, len(list))
	var distinct []priced
	first := map[string]int{}
	given := make([]numbers, len(list))
	for i, e := range list {
		cost, err := e.cost()
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		given[i] = numbers{e.Input, e.Output, e.CacheRead, e.CacheWrite, int64(cost)}
		if _, again := first[e.ID]; !again {
			first[e.ID] = i
			distinct = append(distinct, priced{e, cost})
		}
	}
	if len(first) == 0 {
		return outcomes, nil
	}
	added, err := insertTx(ctx, tx, workspace, distinct)
	if err != nil {
		return nil, err
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
			stands = given[first[e.ID]]
		}
		outcomes[i].Differs = stands != given[i]
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
	return numbersTx(ctx, tx, workspace, known)
}
