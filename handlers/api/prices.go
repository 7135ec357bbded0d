package api

import (
	"context"

	"fleetboard/internal/spend"
	"fleetboard/internal/spend/prices"
	"fleetboard/internal/tenancy"
)

// priceHandlers answer the calls about prices.
type priceHandlers struct{ prices priceKeeper }

type priceKeeper interface {
	List(ctx context.Context, who tenancy.Principal) (prices.List, error)
	Save(ctx context.Context, who tenancy.Principal, list prices.List) (prices.List, error)
}

// ListPrices gives what tokens cost.
func (s *priceHandlers) ListPrices(ctx context.Context, _ ListPricesRequestObject) (ListPricesResponseObject, error) {
	list, err := s.prices.List(ctx, whoOf(ctx))
	return ListPrices200JSONResponse{Items: models(list, priceModel)}, err
}

// SavePrices adds prices of the workspace.
func (s *priceHandlers) SavePrices(ctx context.Context, r SavePricesRequestObject) (SavePricesResponseObject, error) {
	list := make(prices.List, len(r.Body.Prices))
	for i, p := range r.Body.Prices {
		list[i] = prices.Price{Provider: p.Provider, Model: p.Model, From: p.ValidFrom, FlatRate: value(p.FlatRate),
			Source: value(p.Source),
			Rates: prices.Tokens{Input: rate(p.Input), Output: rate(p.Output), CacheRead: rate(p.CacheRead), CacheWrite: rate(p.CacheWrite),
				CacheWrite1h: rate(p.CacheWrite1H)}}
	}
	all, err := s.prices.Save(ctx, whoOf(ctx), list)
	return SavePrices200JSONResponse{Items: models(all, priceModel)}, err
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
		Input: dollars(p.Rates.Input), Output: dollars(p.Rates.Output), CacheRead: dollars(p.Rates.CacheRead),
		CacheWrite: dollars(p.Rates.CacheWrite), CacheWrite1H: dollars(p.Rates.CacheWrite1h)}
}
