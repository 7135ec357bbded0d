// Package prices is the page of prices: what tokens cost, and the form for a price.
package prices

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/prices"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Deps is what the page needs.
type Deps struct {
	Web     *web.Site
	Prices  Prices
	Screens Screens
}

// Prices is what the page asks of prices.
type Prices interface {
	List(ctx context.Context, who tenancy.Principal) (prices.List, error)
	Save(ctx context.Context, who tenancy.Principal, list prices.List) (prices.List, error)
	Models(ctx context.Context, who tenancy.Principal) ([]prices.Unpriced, error)
	Decide(ctx context.Context, who tenancy.Principal, u prices.Unpriced) ([]prices.Unpriced, error)
}

// Screens is what the page asks of the read model of the board.
type Screens interface {
	PageContext(ctx context.Context, who tenancy.Principal) (screens.PageContext, error)
}

// Pages answers the requests of the page.
type Pages struct{ Deps }

// New returns the page.
func New(d Deps) *Pages { return &Pages{d} }

// Routes are the page and its form.
func (p *Pages) Routes() []web.Route {
	return []web.Route{
		web.Get(links.Prices, tenancy.ReadBoard, p.show),
		web.Post(links.Prices, tenancy.Manage, p.save),
		web.Post(links.PriceModels, tenancy.Manage, p.decide),
	}
}

// show is the page. ?provider= and ?model= begin the form.
func (p *Pages) show(c echo.Context, who tenancy.Principal) error {
	return p.page(c, who, http.StatusOK, view.Form{Provider: c.QueryParam("provider"), Model: c.QueryParam("model"),
		From: time.Now().UTC().Format(time.DateOnly)})
}

func (p *Pages) page(c echo.Context, who tenancy.Principal, status int, f view.Form) error {
	ctx := c.Request().Context()
	around, err := p.Screens.PageContext(ctx, who)
	if err != nil {
		return err
	}
	list, err := p.Prices.List(ctx, who)
	if err != nil {
		return err
	}
	shell, err := p.Web.Page(c, who, around.Fleet, layout.SectionBudgets, "Prices")
	if err != nil {
		return err
	}
	m := view.Page{Shell: shell}
	if who.Can(tenancy.Manage) {
		m.Form = &f
	}
	if m.Models, err = p.models(ctx, who); err != nil {
		return err
	}
	for _, price := range list {
		if price.ID > 0 {
			m.Own = append(m.Own, row(price))
		} else {
			m.Builtin = append(m.Builtin, row(price))
		}
	}
	return web.Render(c, status, view.View(m))
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
func (p *Pages) save(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	f := parseForm(typed)
	price, wrong := f.price()
	if len(wrong) == 0 {
		_, err := p.Prices.Save(c.Request().Context(), who, prices.List{price})
		if err == nil {
			p.Web.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "The price of " + price.Model + " was added",
				Text: "What has no price and was used since then is priced by it."})
			return web.SeeOther(c, links.Prices)
		}
		refused := fault.From(err)
		if refused.Code != fault.Validation {
			return err
		}
		for field, problem := range refused.Fields {
			wrong[strings.TrimPrefix(field, "prices[0].")] = problem
		}
	}
	f.Errors = wrong
	return p.page(c, who, http.StatusUnprocessableEntity, view.Form(f))
}

// form is what was typed.
type form view.Form

func parseForm(typed url.Values) form {
	get := func(name string) string { return strings.TrimSpace(typed.Get(name)) }
	return form{Provider: get("provider"), Model: get("model"), From: get("valid_from"), Input: get("input"), CacheRead: get("cache_read"),
		CacheWrite: get("cache_write"), CacheWrite1h: get("cache_write_1h"), Output: get("output"), FlatRate: get("flat_rate") == "1",
		Batch: get("batch_factor"), Source: get("source")}
}

// price is what was typed as a price, and what of it is none.
func (f form) price() (prices.Price, map[string]string) {
	wrong := map[string]string{}
	rate := func(field, text string) int64 {
		n, err := spend.ParseAmount(field, strings.TrimPrefix(text, "$"), spend.MaxAmount)
		if err != nil || n%nanosOfRate != 0 || n/nanosOfRate > prices.MaxRate {
			wrong[field] = "It must be dollars for a million tokens like 1.25, 0 to 1000, with at most 6 decimal places."
		}
		return int64(n / nanosOfRate)
	}
	from, err := time.Parse(time.DateOnly, f.From)
	if err != nil {
		wrong["valid_from"] = "It must be a day such as 2030-01-31."
	}
	return prices.Price{Provider: f.Provider, Model: f.Model, From: from, FlatRate: f.FlatRate, Source: f.Source,
		BatchPermille: prices.ParseFactor(f.Batch), Rates: prices.Tokens{
			Input: rate("input", f.Input), CacheRead: rate("cache_read", f.CacheRead), CacheWrite: rate("cache_write", f.CacheWrite),
			CacheWrite1h: rate("cache_write_1h", f.CacheWrite1h), Output: rate("output", f.Output)}}, wrong
}
