package prices

import (
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/handlers/form"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/views/ui"
)

// fields are the form of a price. Rates are dollars for a million tokens.
var fields = form.Table[prices.Price]{
	form.Line("provider", "Provider", prices.MaxProvider, func(p *prices.Price) *string { return &p.Provider }),
	form.Line("model", "Model", prices.MaxModel, func(p *prices.Price) *string { return &p.Model }),
	form.WriteOnly("valid_from", "Holds from", 0, func(p *prices.Price, text string) (why string) {
		var err error
		if p.From, err = time.Parse(time.DateOnly, text); err != nil {
			return "It must be a day such as 2030-01-31."
		}
		return ""
	}).WithKind(ui.KindDate),
	rate("input", "Input", func(p *prices.Price) *int64 { return &p.Rates.Input }),
	rate("cache_read", "Cache read", func(p *prices.Price) *int64 { return &p.Rates.CacheRead }),
	rate("cache_write", "Cache write", func(p *prices.Price) *int64 { return &p.Rates.CacheWrite }),
	rate("cache_write_1h", "Cache write, 1 hour", func(p *prices.Price) *int64 { return &p.Rates.CacheWrite1h }),
	rate("output", "Output", func(p *prices.Price) *int64 { return &p.Rates.Output }),
	form.WriteOnly("batch_factor", "Batch factor", 5, func(p *prices.Price, text string) (why string) {
		p.BatchPermille = prices.ParseFactor(text)
		if p.BatchPermille == prices.Invalid {
			return prices.FactorRule
		}
		return ""
	}),
	form.Line("source", "Source", prices.MaxSource, func(p *prices.Price) *string { return &p.Source }),
	form.Box("flat_rate", "Paid by a flat rate: what the tokens would have cost is told, and no budget is charged",
		func(p *prices.Price) *bool { return &p.FlatRate }),
}

func rate(name, label string, field func(*prices.Price) *int64) form.Field[prices.Price] {
	return form.WriteOnly(name, label, 20, func(p *prices.Price, text string) (why string) {
		n := spend.ParseRate(strings.TrimPrefix(text, "$"))
		if n == prices.Invalid {
			return prices.RateRule
		}
		*field(p) = n
		return ""
	}).WithKind(ui.KindAmount)
}
