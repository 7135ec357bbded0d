package prices

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// OfTx returns what a workspace knows of prices.
func OfTx(ctx context.Context, tx db.Tx, workspace ids.ID) (b Book, err error) {
	b.wanted = map[Model]wanted{}
	err = tx.Pipeline(ctx, func(tx db.Tx) error {
		own, err := ownTx(ctx, tx, workspace)
		b.List = append(own, Builtin...)
		return err
	}, func(tx db.Tx) (err error) {
		b.Unpriced, err = UnpricedTx(ctx, tx, workspace)
		return err
	})
	return b, err
}

// UnpricedTx returns the models of a workspace that were asked about or decided on.
func UnpricedTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]Unpriced, error) {
	rows, err := q.UnpricedModels(ctx, tx, workspace)
	if err != nil {
		return nil, err
	}
	list := make([]Unpriced, len(rows))
	for i, r := range rows {
		list[i] = Unpriced{Model: Model{r.Provider, r.Model}, AskedAt: r.AskedAt, Budget: r.Budget, Source: r.Source,
			Decision: Decision(r.Decision), As: Model{r.CountsProvider, r.CountsModel}, DecidedBy: r.DecidedBy, DecidedAt: r.DecidedAt}
	}
	return list, nil
}

// insertQuestionsTx adds models that are not there yet, and returns those.
func insertQuestionsTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Unpriced) (asked []Unpriced, err error) {
	p := dbsqlc.UnpricedModelAskParams{WorkspaceID: workspace, MaxOpen: maxOpen}
	seen := map[string]bool{}
	for _, u := range list {
		if name := lower(u.Name); !seen[name] {
			seen[name] = true
			p.Models, p.Providers = append(p.Models, name), append(p.Providers, u.Provider)
			p.Budgets, p.Sources = append(p.Budgets, u.Budget), append(p.Sources, u.Source)
		}
	}
	rows, err := q.UnpricedModelAsk(ctx, tx, p)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		asked = append(asked, Unpriced{Model: Model{r.Provider, r.Model}, Budget: r.Budget, Source: r.Source})
	}
	return asked, nil
}

// saveDecisionTx keeps what a person says of a model.
func saveDecisionTx(ctx context.Context, tx db.Tx, who tenancy.Principal, u Unpriced) error {
	return q.UnpricedModelDecide(ctx, tx, dbsqlc.UnpricedModelDecideParams{WorkspaceID: who.Workspace, Model: u.Name, Provider: u.Provider,
		Decision: string(u.Decision), CountsProvider: u.As.Provider, CountsModel: u.As.Name, DecidedBy: who.Name})
}
