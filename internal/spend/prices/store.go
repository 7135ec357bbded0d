package prices

import (
	"context"
	"fmt"
	"slices"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
)

var q = dbsqlc.New()

// OfTx is the prices of a workspace: its own and the built-in ones.
func OfTx(ctx context.Context, tx db.Tx, workspace ids.ID) (List, error) {
	rows, err := q.PriceList(ctx, tx, workspace)
	if err != nil {
		return nil, fmt.Errorf("list prices: %w", err)
	}
	own := make(List, 0, len(rows)+len(Builtin))
	for _, r := range rows {
		own = append(own, Price{ID: r.ID, Provider: r.Provider, Model: r.Model, From: r.ValidFrom, FlatRate: r.FlatRate, Source: r.Source,
			Rates: Tokens{Input: r.Input, CacheRead: r.CacheRead, CacheWrite: r.CacheWrite, CacheWrite1h: r.CacheWrite1h,
				Output: r.Output}})
	}
	return slices.Concat(own, Builtin), nil
}
