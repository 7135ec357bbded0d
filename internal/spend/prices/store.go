package prices

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

// BookTx returns what a workspace knows of prices.
func BookTx(ctx context.Context, tx db.Tx, workspace ids.ID) (Book, error) {
	b := Book{names: map[Model]modelNames{}}
	err := tx.Pipeline(ctx, func(tx db.Tx) error {
		own, err := ownTx(ctx, tx, workspace)
		b.Prices = append(own, Builtin...)
		return err
	}, func(tx db.Tx) (err error) {
		b.Unpriced, err = UnpricedTx(ctx, tx, workspace)
		return err
	})
	return b, err
}

// ownTx returns the prices that a workspace has saved.
func ownTx(ctx context.Context, tx db.Tx, workspace ids.ID) (List, error) {
	rows, err := q.PriceList(ctx, tx, workspace)
	if err != nil {
		return nil, err
	}
	own := make(List, 0, len(rows)+len(Builtin))
	for _, r := range rows {
		own = append(own, Price{
			ID:       r.ID,
			Provider: r.Provider,
			Model:    r.Model,
			From:     r.ValidFrom,
			Rates: Tokens{
				Input:        r.Input,
				CacheRead:    r.CacheRead,
				CacheWrite:   r.CacheWrite,
				CacheWrite1h: r.CacheWrite1h,
				Output:       r.Output,
			},
			BatchPermille: int64(r.BatchPermille),
			FlatRate:      r.FlatRate,
			Source:        r.Source,
		})
	}
	return own, nil
}

// insertTx adds the prices that the workspace does not have yet, and returns how many those were.
func insertTx(ctx context.Context, tx db.Tx, who tenancy.Principal, list List) (int, error) {
	p := dbsqlc.PriceInsertParams{WorkspaceID: who.Workspace, CreatedBy: who.Name}
	for _, price := range list {
		p.Providers = append(p.Providers, price.Provider)
		p.Models = append(p.Models, price.Model)
		p.ValidFroms = append(p.ValidFroms, price.From)
		p.Inputs = append(p.Inputs, price.Rates.Input)
		p.CacheReads = append(p.CacheReads, price.Rates.CacheRead)
		p.CacheWrites = append(p.CacheWrites, price.Rates.CacheWrite)
		p.CacheWrites1h = append(p.CacheWrites1h, price.Rates.CacheWrite1h)
		p.Outputs = append(p.Outputs, price.Rates.Output)
		p.BatchPermilles = append(p.BatchPermilles, int(price.BatchPermille))
		p.FlatRates = append(p.FlatRates, price.FlatRate)
		p.Sources = append(p.Sources, price.Source)
	}
	added, err := q.PriceInsert(ctx, tx, p)
	return len(added), err
}

// UnpricedTx returns the models of a workspace that were asked about or decided on, those that
// wait for a decision first, each the oldest first.
func UnpricedTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]Unpriced, error) {
	rows, err := q.UnpricedModels(ctx, tx, workspace)
	return db.Map(rows, err, func(r dbsqlc.UnpricedModelsRow) Unpriced {
		return Unpriced{
			ModelDecision: ModelDecision{
				Model:    Model{r.Provider, r.Model},
				Decision: Decision(r.Decision),
				As:       Model{r.CountsProvider, r.CountsModel},
			},
			AskedAt:   r.AskedAt,
			Budget:    r.Budget,
			Source:    r.Source,
			DecidedBy: r.DecidedBy,
			DecidedAt: r.DecidedAt,
		}
	})
}

// insertQuestionsTx adds the models that nobody was asked about yet, and returns those.
func insertQuestionsTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Unpriced) ([]Unpriced, error) {
	p := dbsqlc.UnpricedModelAskParams{WorkspaceID: workspace, MaxOpen: maxOpen}
	seen := map[string]bool{}
	for _, u := range list {
		name := lower(u.Name)
		if seen[name] {
			continue
		}
		seen[name] = true
		p.Models = append(p.Models, name)
		p.Providers = append(p.Providers, u.Provider)
		p.Budgets = append(p.Budgets, u.Budget)
		p.Sources = append(p.Sources, u.Source)
	}
	rows, err := q.UnpricedModelAsk(ctx, tx, p)
	return db.Map(rows, err, func(r dbsqlc.UnpricedModelAskRow) Unpriced {
		return Unpriced{ModelDecision: ModelDecision{Model: Model{r.Provider, r.Model}}, Budget: r.Budget, Source: r.Source}
	})
}

// saveDecisionTx writes what a person decided on a model.
func saveDecisionTx(ctx context.Context, tx db.Tx, who tenancy.Principal, d ModelDecision) error {
	return q.UnpricedModelDecide(ctx, tx, dbsqlc.UnpricedModelDecideParams{
		WorkspaceID:    who.Workspace,
		Model:          d.Name,
		Provider:       d.Provider,
		Decision:       string(d.Decision),
		CountsProvider: d.As.Provider,
		CountsModel:    d.As.Name,
		DecidedBy:      who.Name,
	})
}
