package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
)

// priceHandlers answer the calls about prices.
type priceHandlers struct{ *Deps }

// ListPrices returns the workspace's prices, then the built-in ones.
func (s *priceHandlers) ListPrices(ctx context.Context, _ ListPricesRequestObject) (ListPricesResponseObject, error) {
	list, err := s.Prices.List(ctx, principal(ctx))
	return ListPrices200JSONResponse{Items: mapSlice(list, priceModel)}, err
}

// SavePrices adds prices of the workspace.
func (s *priceHandlers) SavePrices(ctx context.Context, r SavePricesRequestObject) (SavePricesResponseObject, error) {
	list := make(prices.List, len(r.Body.Prices))
	for i, p := range r.Body.Prices {
		list[i] = prices.Price{
			Provider: p.Provider,
			Model:    p.Model,
			From:     p.ValidFrom,
			Rates: prices.Tokens{
				Input:        spend.ParseRate(p.Input),
				CacheRead:    spend.ParseRate(p.CacheRead),
				CacheWrite:   spend.ParseRate(p.CacheWrite),
				CacheWrite1h: spend.ParseRate(p.CacheWrite1H),
				Output:       spend.ParseRate(p.Output),
			},
			BatchPermille: prices.ParseFactor(value(p.BatchFactor)),
			FlatRate:      value(p.FlatRate),
			Source:        value(p.Source),
		}
	}
	all, err := s.Prices.Save(ctx, principal(ctx), list)
	return SavePrices200JSONResponse{Items: mapSlice(all, priceModel)}, err
}

// ListUnpricedModels returns the models without a price that people were asked about or have
// decided on.
func (s *priceHandlers) ListUnpricedModels(ctx context.Context, _ ListUnpricedModelsRequestObject) (
	ListUnpricedModelsResponseObject, error,
) {
	list, err := s.Prices.Models(ctx, principal(ctx))
	return ListUnpricedModels200JSONResponse{Items: mapSlice(list, unpricedModel)}, err
}

// DecideUnpricedModel saves what a model without a price counts as, or that it passes.
func (s *priceHandlers) DecideUnpricedModel(ctx context.Context, r DecideUnpricedModelRequestObject) (
	DecideUnpricedModelResponseObject, error,
) {
	d := prices.ModelDecision{Model: prices.Model{Name: r.Body.Model}, Decision: prices.Decision(r.Body.Decision)}
	if as := r.Body.CountsAs; as != nil {
		d.As = prices.Model{Provider: as.Provider, Name: as.Model}
	}
	list, err := s.Prices.Decide(ctx, principal(ctx), d)
	return DecideUnpricedModel200JSONResponse{Items: mapSlice(list, unpricedModel)}, err
}

func unpricedModel(u prices.Unpriced) UnpricedModel {
	m := UnpricedModel{
		Model:     u.Name,
		Provider:  u.Provider,
		AskedAt:   u.AskedAt.UTC(),
		Budget:    u.Budget,
		Source:    u.Source,
		Decision:  string(u.Decision),
		DecidedBy: u.DecidedBy,
		DecidedAt: utcOrNil(u.DecidedAt),
	}
	if u.Decision == prices.Count {
		m.CountsAs = &ModelName{Provider: u.As.Provider, Model: u.As.Name}
	}
	return m
}

func priceModel(p prices.Price) Price {
	dollars := func(rate int64) string { return spend.RateAmount(rate).Fixed() }
	return Price{
		Provider:     p.Provider,
		Model:        p.Model,
		ValidFrom:    p.From.UTC(),
		Input:        dollars(p.Rates.Input),
		CacheRead:    dollars(p.Rates.CacheRead),
		CacheWrite:   dollars(p.Rates.CacheWrite),
		CacheWrite1H: dollars(p.Rates.CacheWrite1h),
		Output:       dollars(p.Rates.Output),
		BatchFactor:  prices.Factor(p.BatchPermille),
		FlatRate:     p.FlatRate,
		Source:       p.Source,
		BuiltIn:      p.ID < 0,
	}
}
