package prices

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

// ownTx returns the prices that a workspace has saved.
func ownTx(ctx context.Context, tx db.Tx, workspace ids.ID) (List, error) {
	rows, err := q.PriceList(ctx, tx, workspace)
	if err != nil {
		return nil, err
	}
	own := make(List, 0, len(rows)+len(Builtin))
	for _, r := range rows {
		own = append(own, Price{ID: r.ID, Provider: r.Provider, Model: r.Model, From: r.ValidFrom, FlatRate: r.FlatRate, Source: r.Source,
			BatchPermille: int64(r.BatchPermille),
			Rates: Tokens{Input: r.Input, CacheRead: r.CacheRead, CacheWrite: r.CacheWrite, CacheWrite1h: r.CacheWrite1h,
				Output: r.Output}})
	}
	return own, nil
}

// insertTx adds prices that are not there yet, and returns how many.
func insertTx(ctx context.Context, tx db.Tx, who tenancy.Principal, list List) (int, error) {
	p := dbsqlc.PriceInsertParams{WorkspaceID: who.Workspace, CreatedBy: who.Name}
	for i := range list {
		price := &list[i]
		price.From = toMicroseconds(price.From)
		p.Providers, p.Models = append(p.Providers, price.Provider), append(p.Models, price.Model)
		p.ValidFroms, p.Inputs = append(p.ValidFroms, price.From), append(p.Inputs, price.Rates.Input)
		p.CacheReads, p.CacheWrites = append(p.CacheReads, price.Rates.CacheRead), append(p.CacheWrites, price.Rates.CacheWrite)
		p.CacheWrites1h, p.Outputs = append(p.CacheWrites1h, price.Rates.CacheWrite1h), append(p.Outputs, price.Rates.Output)
		p.BatchPermilles = append(p.BatchPermilles, int(price.BatchPermille))
		p.FlatRates, p.Sources = append(p.FlatRates, price.FlatRate), append(p.Sources, price.Source)
	}
	added, err := q.PriceInsert(ctx, tx, p)
	if err != nil {
		return 0, err
	}
	return len(added), nil
}
