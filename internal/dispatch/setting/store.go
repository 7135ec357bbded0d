package setting

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

// LoadTx reads how a workspace gives its jobs out.
func LoadTx(ctx context.Context, tx db.Tx, workspace ids.ID) (Settings, error) {
	present, err := loadTx(ctx, tx, workspace)
	return present.Settings, err
}

// loadTx is LoadTx with the weights of products by their ids, and the version.
func loadTx(ctx context.Context, tx db.Tx, workspace ids.ID) (Present, error) {
	p := Present{Settings: Default(), weights: map[ids.ID]int{}}
	rows, err := q.DispatchSettingGet(ctx, tx, workspace)
	if err != nil {
		return p, err
	}
	for _, r := range rows {
		p.Mode, p.OfferSeconds, p.AffinitySeconds = Mode(r.Mode), r.OfferSeconds, r.AffinitySeconds
		p.PreemptGap, p.AgeingMinutes, p.ShortJobsFirst, p.version = r.PreemptGap, r.AgeingMinutes, r.ShortJobsFirst, r.Version
		if err := json.Unmarshal(r.Weights, &p.Weights); err != nil {
			return p, fmt.Errorf("weights of %s: %w", workspace, err)
		}
	}
	weights, err := q.DispatchWeights(ctx, tx, workspace)
	for _, w := range weights {
		p.ProductWeights[w.Name], p.weights[w.ID] = w.DispatchWeight, w.DispatchWeight
	}
	return p, err
}

func saveTx(ctx context.Context, tx db.Tx, workspace ids.ID, s Settings) error {
	weights, err := json.Marshal(s.Weights)
	if err != nil {
		return err
	}
	return q.DispatchSettingSave(ctx, tx, dbsqlc.DispatchSettingSaveParams{WorkspaceID: workspace, Mode: string(s.Mode),
		OfferSeconds: s.OfferSeconds, AffinitySeconds: s.AffinitySeconds, Weights: weights, PreemptGap: s.PreemptGap,
		AgeingMinutes: s.AgeingMinutes, ShortJobsFirst: s.ShortJobsFirst})
}

// saveProductsTx writes the weights of products, by name.
func saveProductsTx(ctx context.Context, tx db.Tx, workspace ids.ID, weights map[string]int) error {
	if len(weights) == 0 {
		return nil
	}
	names, list := make([]string, 0, len(weights)), make([]int, 0, len(weights))
	for name, weight := range weights {
		names, list = append(names, name), append(list, weight)
	}
	known, err := q.DispatchWeightsSave(ctx, tx, workspace, names, list)
	if err != nil {
		return err
	}
	p := fault.Problems{}
	for _, name := range names {
		if !slices.Contains(known, name) {
			p.Add(productField(name), "There is no such product in this workspace.")
		}
	}
	return p.Err()
}
