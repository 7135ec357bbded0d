package prices

import (
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	view "github.com/fleetboard/fleetboard/views/prices"
	"github.com/fleetboard/fleetboard/views/ui"
)

func row(p prices.Price) view.Row {
	batch := ""
	if p.BatchPermille != prices.WholePrice {
		batch = prices.Factor(p.BatchPermille)
	}
	return view.Row{
		Batch:        batch,
		Provider:     p.Provider,
		Model:        p.Model,
		From:         ui.CalendarDate(p.From.UTC()),
		FlatRate:     p.FlatRate,
		Source:       p.Source,
		Input:        rateText(p.Rates.Input),
		CacheRead:    rateText(p.Rates.CacheRead),
		CacheWrite:   rateText(p.Rates.CacheWrite),
		CacheWrite1h: rateText(p.Rates.CacheWrite1h),
		Output:       rateText(p.Rates.Output),
	}
}

func rateText(rate int64) string { return spend.RateAmount(rate).Exact() }
