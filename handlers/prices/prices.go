// Package prices is the page of prices: what tokens cost, and the form for a price.
package prices

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/prices"
	"github.com/fleetboard/fleetboard/views/ui"
)

// site is the handlers of the page.
type site struct {
	*web.Site

	page web.Page[view.Prices] // shows a refused form
}

// New declares the page.
func New(s *web.Site) web.Page[view.Prices] {
	p := &site{Site: s}
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

// read reads the prices. ?provider= and ?model= are filled into the form.
func (p *site) read(ctx context.Context, r web.Request) (m view.Prices, err error) {
	list, err := p.Prices.List(ctx, r.Who)
	if err != nil {
		return m, err
	}
	if r.Who.Can(tenancy.Manage) {
		f := fields.Read(url.Values{
			"provider":   {r.Query.Get("provider")},
			"model":      {r.Query.Get("model")},
			"valid_from": {time.Now().UTC().Format(time.DateOnly)},
		})
		m.Form = &f
	}
	for _, price := range list {
		if price.ID > 0 {
			m.Own = append(m.Own, row(price))
		} else {
			m.Builtin = append(m.Builtin, row(price))
		}
	}
	m.Models, err = p.decided(ctx, r.Who)
	return m, err
}

// save adds a price, or shows the refused form with all that was typed.
func (p *site) save(c echo.Context, who tenancy.Principal) error {
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
