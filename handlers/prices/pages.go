// Package prices is the page of prices: what tokens cost, and the form for a price.
package prices

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/form"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/prices"
	"github.com/fleetboard/fleetboard/views/ui"
)

// pages are the page with what people do on it.
type pages struct {
	*web.Site

	page web.Page[view.Prices]
}

// New declares the page.
func New(s *web.Site) web.Page[view.Prices] {
	p := &pages{Site: s}
	p.page = web.Page[view.Prices]{
		Site: s, Path: links.Prices, Need: tenancy.ReadBoard, Section: layout.SectionBudgets, Title: "Prices",
		Read: p.read, View: view.View,
		Actions: []web.Route{
			web.Post(links.Prices, tenancy.Manage, p.save),
			web.Post(links.PriceModels, tenancy.Manage, p.decide),
		},
	}
	return p.page
}

// read reads the prices. ?provider= and ?model= begin the form.
func (p *pages) read(ctx context.Context, r web.Request) (m view.Prices, err error) {
	list, err := p.Prices.List(ctx, r.Who)
	if err != nil {
		return m, err
	}
	if r.Who.Can(tenancy.Manage) {
		f := fields.Read(url.Values{"provider": {r.Query.Get("provider")}, "model": {r.Query.Get("model")},
			"valid_from": {time.Now().UTC().Format(time.DateOnly)}})
		m.Form = &f
	}
	for _, price := range list {
		if price.ID > 0 {
			m.Own = append(m.Own, row(price))
		} else {
			m.Builtin = append(m.Builtin, row(price))
		}
	}
	m.Models, err = p.models(ctx, r.Who)
	return m, err
}

func row(p prices.Price) view.Row {
	batch := ""
	if p.BatchPermille != prices.WholePrice {
		batch = prices.Factor(p.BatchPermille)
	}
	return view.Row{
		Batch:        batch,
		Provider:     p.Provider,
		Model:        p.Model,
		From:         p.From.UTC().Format("2 Jan 2006"),
		FlatRate:     p.FlatRate,
		Source:       p.Source,
		Input:        dollars(p.Rates.Input),
		CacheRead:    dollars(p.Rates.CacheRead),
		CacheWrite:   dollars(p.Rates.CacheWrite),
		CacheWrite1h: dollars(p.Rates.CacheWrite1h),
		Output:       dollars(p.Rates.Output),
	}
}

// nanosOfRate is how many billionths of a dollar a million tokens cost at the lowest rate.
const nanosOfRate = 1000

func dollars(rate int64) string { return "$" + spend.Nanos(rate*nanosOfRate).USD() }

// save adds a price, or shows the refused form with all that was typed.
func (p *pages) save(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	f := fields.Read(typed)
	price, err := fields.Value(f)
	if err == nil {
		_, err = p.Prices.Save(c.Request().Context(), who, prices.List{price})
	}
	if err == nil {
		p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "The price of " + price.Model + " was added",
			Text: "What has no price and was used since then is priced by it."})
		return web.SeeOther(c, links.Prices)
	}
	if err := fields.Refuse(&f, err); err != nil {
		return err
	}
	return p.page.Show(c, who, http.StatusUnprocessableEntity, func(m *view.Prices) { m.Form = &f })
}

// fields are the form of a price. Rates are dollars for a million tokens.
var fields = form.Table[prices.Price]{
	form.Line("provider", "Provider", prices.MaxProvider, func(p *prices.Price) *string { return &p.Provider }),
	form.Line("model", "Model", prices.MaxModel, func(p *prices.Price) *string { return &p.Model }),
	form.Own("valid_from", "Holds from", 0, nil, func(p *prices.Price, text string) (why string) {
		var err error
		if p.From, err = time.Parse(time.DateOnly, text); err != nil {
			return "It must be a day such as 2030-01-31."
		}
		return ""
	}).Of(ui.KindDate),
	rate("input", "Input", func(p *prices.Price) *int64 { return &p.Rates.Input }),
	rate("cache_read", "Cache read", func(p *prices.Price) *int64 { return &p.Rates.CacheRead }),
	rate("cache_write", "Cache write", func(p *prices.Price) *int64 { return &p.Rates.CacheWrite }),
	rate("cache_write_1h", "Cache write, 1 hour", func(p *prices.Price) *int64 { return &p.Rates.CacheWrite1h }),
	rate("output", "Output", func(p *prices.Price) *int64 { return &p.Rates.Output }),
	form.Own("batch_factor", "Batch factor", 5, nil, func(p *prices.Price, text string) string {
		p.BatchPermille = prices.ParseFactor(text)
		return ""
	}),
	form.Line("source", "Source", prices.MaxSource, func(p *prices.Price) *string { return &p.Source }),
	form.Box("flat_rate", "Paid by a flat rate: what the tokens would have cost is told, and no budget is charged",
		func(p *prices.Price) *bool { return &p.FlatRate }),
}

func rate(name, label string, at func(*prices.Price) *int64) form.Field[prices.Price] {
	return form.Own(name, label, 20, nil, func(p *prices.Price, text string) string {
		n, err := spend.ParseAmount(name, strings.TrimPrefix(text, "$"), spend.MaxAmount)
		if err != nil || n%nanosOfRate != 0 || n/nanosOfRate > prices.MaxRate {
			return "It must be dollars for a million tokens like 1.25, 0 to 1000, with at most 6 decimal places."
		}
		*at(p) = int64(n / nanosOfRate)
		return ""
	}).Of(ui.KindAmount)
}
