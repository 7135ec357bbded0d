package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
)

// priceHandlers answer the calls about prices.
type priceHandlers struct{ *Deps }

// ListPrices gives what tokens cost.
func (s *priceHandlers) ListPrices(ctx context.Context, _ ListPricesRequestObject) (ListPricesResponseObject, error) {
	list, err := s.Prices.List(ctx, principal(ctx))
	return ListPrices200JSONResponse{Items: models(list, priceModel)}, err
}

// SavePrices adds prices of the workspace.
func (s *priceHandlers) SavePrices(ctx context.Context, r SavePricesRequestObject) (SavePricesResponseObject, error) {
	list := make(prices.List, len(r.Body.Prices))
	for i, p := range r.Body.Prices {
		list[i] = prices.Price{Provider: p.Provider, Model: p.Model, From: p.ValidFrom, FlatRate: value(p.FlatRate),
			Source: value(p.Source), BatchPermille: prices.ParseFactor(value(p.BatchFactor)),
			Rates: prices.Tokens{Input: rate(p.Input), Output: rate(p.Output), CacheRead: rate(p.CacheRead), CacheWrite: rate(p.CacheWrite),
				CacheWrite1h: rate(p.CacheWrite1H)}}
	}
	all, err := s.Prices.Save(ctx, principal(ctx), list)
	return SavePrices200JSONResponse{Items: models(all, priceModel)}, err
}

// ListUnpricedModels gives the models without a price that a person has to decide on.
func (s *priceHandlers) ListUnpricedModels(ctx context.Context, _ ListUnpricedModelsRequestObject) (
	ListUnpricedModelsResponseObject, error,
) {
	list, err := s.Prices.Models(ctx, principal(ctx))
	return ListUnpricedModels200JSONResponse{Items: models(list, unpricedModel)}, err
}

// DecideUnpricedModel says what a model without a price counts as, or that it passes.
func (s *priceHandlers) DecideUnpricedModel(ctx context.Context, r DecideUnpricedModelRequestObject) (
	DecideUnpricedModelResponseObject, error,
) {
	u := prices.Unpriced{Model: prices.Model{Name: r.Body.Model}, Decision: prices.Decision(r.Body.Decision)}
	if as := r.Body.CountsAs; as != nil {
		u.As = prices.Model{Provider: as.Provider, Name: as.Model}
	}
	list, err := s.Prices.Decide(ctx, principal(ctx), u)
	return DecideUnpricedModel200JSONResponse{Items: models(list, unpricedModel)}, err
}

func unpricedModel(u prices.Unpriced) UnpricedModel {
	m := UnpricedModel{Model: u.Name, Provider: u.Provider, AskedAt: u.AskedAt.UTC(), Budget: u.Budget, Source: u.Source,
		Decision: string(u.Decision), DecidedBy: u.DecidedBy, DecidedAt: utcOrNil(u.DecidedAt)}
	if u.Decision == prices.Count {
		m.CountsAs = &ModelName{Provider: u.As.Provider, Model: u.As.Name}
	}
	return m
}

// nanosOfRate is how many billionths of a dollar a million tokens cost at the lowest rate.
const nanosOfRate = 1000

// rate reads dollars for a million tokens. What is none, or is no whole rate, is one below
// 0, which the domain refuses in its own words.
func rate(text string) int64 {
	n, err := spend.ParseAmount("rate", text, spend.MaxAmount)
	if err != nil || n%nanosOfRate != 0 {
		return -1
	}
	return int64(n / nanosOfRate)
}

func priceModel(p prices.Price) Price {
	dollars := func(rate int64) string { return spend.Nanos(rate * nanosOfRate).Fixed() }
	return Price{Provider: p.Provider, Model: p.Model, ValidFrom: p.From.UTC(), FlatRate: p.FlatRate, Source: p.Source, BuiltIn: p.ID < 0,
		BatchFactor: prices.Factor(p.BatchPermille),
		Input:       dollars(p.Rates.Input), Output: dollars(p.Rates.Output), CacheRead: dollars(p.Rates.CacheRead),
		CacheWrite: dollars(p.Rates.CacheWrite), CacheWrite1H: dollars(p.Rates.CacheWrite1h)}
}
