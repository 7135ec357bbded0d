package jobs

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// RepairTx makes the row of a locked job what its log says, and records in the log
// which values were found instead. InvalidTransition where the job has, by its log,
// a lease that is not there, or has a lease that the log does not record; NotFound
// where its product is gone.
func RepairTx(ctx context.Context, tx db.Tx, workspace, id ids.ID, leaseEpoch int64, told State, found []Differing) error {
	if told.Status.Leased() != (leaseEpoch != 0) || leaseEpoch != 0 && leaseEpoch != told.Epoch {
		return fault.New(fault.InvalidTransition, "By its log %s is %s in epoch %d; its lease does not agree. A lease cannot be repaired.",
			told.Key, told.Status, told.Epoch)
	}
	products, err := productsTx(ctx, tx, workspace)
	if err != nil {
		return err
	}
	of := slices.IndexFunc(products, func(p Product) bool { return p.Name == told.Product })
	if of < 0 {
		return fault.New(fault.NotFound, "By its log %s belongs to the product %s, which is not there.", told.Key, told.Product)
	}
	lane, err := ensureLaneTx(ctx, tx, workspace, Needs{
		Product: products[of].ID, Capabilities: orEmpty(told.Capabilities), Repo: told.Repo, Factory: told.Factory})
	if err != nil {
		return err
	}
	row, values := map[string]any{}, map[string]json.RawMessage{}
	for _, f := range fieldList {
		row[f.name] = told.value(f.at)
	}
	for _, d := range found {
		values[d.Field] = json.RawMessage(d.Here)
	}
	return repairTx(ctx, tx, workspace, id, products[of].ID, lane, row, values)
}

// FieldValue is a field of a state by its name, as JSON.
type FieldValue struct{ Name, Value string }

// Fields returns all fields of a state, in the order in which people read them.
func (s State) Fields() []FieldValue {
	list := make([]FieldValue, 0, len(fieldList))
	for _, f := range fieldList {
		list = append(list, FieldValue{f.name, text(s.value(f.at))})
	}
	return list
}
