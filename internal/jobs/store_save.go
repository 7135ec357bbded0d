package jobs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// jobRow is a decision as JobsSave takes it.
type jobRow struct {
	Saved
	BudgetNanos  *int64             `json:"budget_nanos"`
	ID           ids.ID             `json:"id"`
	FromStatus   Status             `json:"from_status"`
	FromEpoch    int64              `json:"from_epoch"`
	ProductID    ids.ID             `json:"product_id"`
	LaneID       int64              `json:"lane_id"`
	Attempts     int                `json:"attempts"`
	Actor        string             `json:"actor"`
	ActorKind    tenancy.Kind       `json:"actor_kind"`
	ActorID      string             `json:"actor_id"`
	CarriedOutBy *tenancy.Actor     `json:"carried_out_by"`
	EventType    eventlog.Type      `json:"event_type"`
	Changes      json.RawMessage    `json:"changes"`
	Payload      json.RawMessage    `json:"payload"`
	Contents     []eventlog.Content `json:"contents,omitempty"`
	Unranked     bool               `json:"unranked"`
}

// written is what the database decided when it wrote a jobRow.
type written = dbsqlc.JobsSaveRow

// saveRowsTx writes decisions. A job whose status or epoch is not what was decided on is
// not written, and not among the result.
func saveRowsTx(ctx context.Context, tx db.Tx, workspace ids.ID, rows []jobRow) (map[ids.ID]written, error) {
	var list []ids.ID
	for _, row := range rows {
		list = append(list, row.ID)
	}
	decisions, err := json.Marshal(rows)
	if err != nil {
		return nil, fmt.Errorf("encode decisions: %w", err)
	}
	saved, err := q.JobsSave(ctx, tx, decisions, workspace, list)
	if err != nil {
		return nil, err
	}
	found := make(map[ids.ID]written, len(saved))
	for _, r := range saved {
		found[r.ID] = r
	}
	return found, nil
}

// writeTextTx writes what people wrote at length.
func writeTextTx(ctx context.Context, tx db.Tx, workspace ids.ID, j Job) error {
	acceptance, err := json.Marshal(j.Acceptance)
	if err != nil {
		return fmt.Errorf("encode acceptance: %w", err)
	}
	met, err := json.Marshal(j.AcceptanceMet)
	if err != nil {
		return fmt.Errorf("encode checkmarks: %w", err)
	}
	return q.JobTextUpdate(ctx, tx, dbsqlc.JobTextUpdateParams{
		WorkspaceID: workspace, JobID: j.ID, Body: j.Body, Acceptance: acceptance, AcceptanceMet: met})
}

// repairTx writes every field of a state to a job's row, and records what was found there instead.
func repairTx(ctx context.Context, tx db.Tx, workspace, job, product ids.ID, lane int64,
	state map[string]any, found map[string]json.RawMessage) (err error) {
	params := dbsqlc.JobRepairParams{WorkspaceID: workspace, ID: job, ProductID: product, LaneID: lane, Actor: "verify-log"}
	if params.State, err = json.Marshal(state); err != nil {
		return fmt.Errorf("encode state: %w", err)
	}
	if params.Found, err = json.Marshal(map[string]any{"found": found}); err != nil {
		return fmt.Errorf("encode differences: %w", err)
	}
	if _, err := q.JobRepair(ctx, tx, params); err != nil {
		return err
	}
	return nil
}
