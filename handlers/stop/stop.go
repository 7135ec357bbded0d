// Package stop is the page on which people stop the fleet, or a product, and release it.
package stop

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/form"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/dispatch/stop"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/stop"
	"github.com/fleetboard/fleetboard/views/ui"
)

// site is the handlers of the page.
type site struct {
	*web.Site

	page web.Page[view.Page] // shows a refused form
}

// New declares the page.
func New(s *web.Site) web.Page[view.Page] {
	p := &site{Site: s}
	p.page = web.Page[view.Page]{
		Site: s, Path: links.Stop, Need: tenancy.ReadBoard, Section: layout.SectionAgents, Title: "Stop and release",
		Read: p.read, View: view.View,
		Live: web.Live[view.Page]{View: view.Live, AtOnce: true,
			Changes: func(u *screens.Update) bool { return u.Fleet != nil }},
		Actions: []web.Route{
			web.Post(links.Stop, tenancy.Manage, p.stop),
			web.Post(links.ReleaseFleet, tenancy.Manage, p.release),
		},
	}
	return p.page
}

// order is the form of a stop.
type order struct{ Product, Hold, Reason string }

var fields = form.Table[order]{
	form.Choice("product", "What", func(o *order) *string { return &o.Product }).Also("products"),
	form.Choice("hold", "What it holds", func(o *order) *string { return &o.Hold }).Options(
		string(fleet.HoldClaims), "New jobs; running ones go on",
		string(fleet.HoldAll), "All work; running jobs are paused, too"),
	form.Line("reason", "Why", stop.MaxReason, func(o *order) *string { return &o.Reason }),
}

// read reads what is stopped. ?product= and ?hold= are filled into the form.
func (p *site) read(ctx context.Context, r web.Request) (m view.Page, err error) {
	for _, s := range r.Fleet.Stops {
		m.List = append(m.List, row(s, r.Now()))
	}
	if !r.Who.Can(tenancy.Manage) {
		return m, nil
	}
	f := fields.Read(url.Values{"product": {r.Query.Get("product")}, "hold": {r.Query.Get("hold")}})
	m.Form, m.What = &f, []ui.Option{{Value: "", Label: "The whole fleet"}}
	products, err := p.Jobs.Products(ctx, r.Who)
	for _, product := range products {
		m.What = append(m.What, ui.Option{Value: product.Name, Label: "The product " + product.Name})
	}
	return m, err
}

// stop stops what the form says, or shows it with what was refused.
func (p *site) stop(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	f := fields.Read(typed)
	o, err := fields.Value(f)
	if err == nil {
		_, err = p.Dispatch.StopFleet(c.Request().Context(), who, stop.Order{Products: list(o.Product),
			Hold: fleet.Hold(o.Hold), Reason: o.Reason})
	}
	if err == nil {
		p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: title(o.Product) + " is stopped", Text: holds[fleet.Hold(o.Hold)]})
		return web.SeeOther(c, links.Stop)
	}
	if err := fields.Refuse(&f, err); err != nil {
		return err
	}
	return p.page.Show(c, who, http.StatusUnprocessableEntity, func(m *view.Page) { m.Form = &f })
}

// release lets a product go on, or all that is stopped. What somebody else has released
// meanwhile is released all the same.
func (p *site) release(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	product := typed.Get("product")
	stops, err := p.Dispatch.ReleaseFleet(c.Request().Context(), who, list(product))
	if err != nil {
		p.SetFlash(c, ui.Toast{Tone: ui.Bad, Title: "Nothing was released", Text: web.FieldText(err)})
		return web.SeeOther(c, links.Stop)
	}
	toast := ui.Toast{Tone: ui.OK, Title: "All goes on", Text: "What was paused for it is ready again."}
	if product != "" {
		toast.Title = product + " goes on"
	}
	if stops.Whole() != nil {
		toast.Text = "The whole fleet is still stopped."
	}
	p.SetFlash(c, toast)
	return web.SeeOther(c, links.Stop)
}

// list names a product, none for the whole fleet.
func list(product string) []string {
	if product == "" {
		return nil
	}
	return []string{product}
}

func title(product string) string {
	if product == "" {
		return "The whole fleet"
	}
	return product
}

// holds says what each hold keeps back.
var holds = map[fleet.Hold]string{
	fleet.HoldClaims: "No new job is given out; running ones go on.",
	fleet.HoldAll:    "No new job is given out, and running ones are paused.",
}

func row(s fleet.Stop, now time.Time) view.Stop {
	return view.Stop{Title: title(s.Product), Holds: holds[s.Hold], Reason: s.Reason, By: s.By.Name, At: ui.Ago(s.At, now),
		Product: s.Product}
}
