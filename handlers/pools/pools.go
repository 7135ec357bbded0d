// Package pools is the page of pools: the template of each, its factories and its demand.
package pools

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/form"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/pools"
	"github.com/fleetboard/fleetboard/views/ui"
)

// site is the handlers of the page.
type site struct{ *web.Site }

// New declares the page. ?pool= names the one that is shown at length.
func New(s *web.Site) web.Page[view.Page] {
	p := &site{s}
	return web.Page[view.Page]{
		Site: s, Path: links.Pools, Need: tenancy.ReadBoard, Section: layout.SectionAgents, Title: "Pools",
		Read: p.read, View: view.View,
		Live: web.Live[view.Page]{View: view.Live, Ages: true,
			Changes: func(u *screens.Update) bool { return u.Fleet != nil || len(u.Changed) > 0 }},
		Actions: []web.Route{
			web.Get(links.PoolForm, tenancy.Manage, p.ask),
			web.Post(links.Pools, tenancy.Manage, p.save),
			web.Post(links.RemovePool, tenancy.Manage, p.remove),
		},
	}
}

// input is what the form has of a pool.
type input struct {
	name                              string
	t                                 pools.Template
	seats, least, most, idle, cooling *int
}

var fields = form.Table[input]{
	form.Line("name", "Name", fleet.MaxName, func(in *input) *string { return &in.name }),
	form.Line("os", "System", fleet.MaxName, func(in *input) *string { return &in.t.Offers.OS }).Also("offers.os"),
	form.Commas("engines", "Engines", 0, func(in *input) *[]string { return &in.t.Offers.Engines }).Also("offers.engines"),
	form.Commas("capabilities", "Capabilities", 0, func(in *input) *[]string { return &in.t.Offers.Capabilities }).
		Also("offers.capabilities"),
	form.Commas("repos", "Repos", 0, func(in *input) *[]string { return &in.t.Offers.Repos }).Also("offers.repos"),
	form.Number("seats", "Seats", 1, pools.MaxSeats, func(in *input) **int { return &in.seats }).Also("offers.seats").
		WithKind(ui.KindNumber),
	form.Number("min", "At least", 0, pools.MaxFactories, func(in *input) **int { return &in.least }).WithKind(ui.KindNumber),
	form.Number("max", "At most", 0, pools.MaxFactories, func(in *input) **int { return &in.most }).WithKind(ui.KindNumber),
	form.Number("min_idle", "Idle", 0, pools.MaxFactories, func(in *input) **int { return &in.idle }).WithKind(ui.KindNumber),
	form.Number("cool_down_seconds", "Cool-down in seconds", 0, pools.MaxCoolDown, func(in *input) **int { return &in.cooling }).
		WithKind(ui.KindNumber),
	form.Commas("product_scope", "Products", 0, func(in *input) *[]string { return &in.t.ProductScope }),
}

// fill returns the form of a template.
func fill(name string, t pools.Template) ui.Form {
	return fields.Fill(input{name, t, &t.Offers.Seats, &t.Min, &t.Max, &t.MinIdle, &t.CoolDownSeconds})
}

// template returns what was typed; a number that was left out is its usual one.
func (in input) template() pools.Template {
	number := func(n *int, usual int) int {
		if n == nil {
			return usual
		}
		return *n
	}
	t := in.t
	t.Offers.Seats, t.Min, t.Max = number(in.seats, 1), number(in.least, 0), number(in.most, 1)
	t.MinIdle, t.CoolDownSeconds = number(in.idle, 0), number(in.cooling, pools.DefaultCoolDown)
	return t
}

// read reads the pools, and one of them at length.
func (p *site) read(ctx context.Context, r web.Request) (m view.Page, err error) {
	all, err := p.Pools.Demands(ctx, r.Who)
	if err != nil {
		return m, err
	}
	may := r.Who.Can(tenancy.Manage)
	if may {
		m.New = links.PoolForm
	}
	chosen := r.Query.Get("pool")
	at := -1
	for i, one := range all {
		if one.Pool.Name == chosen || at < 0 {
			at = i
		}
	}
	for i, one := range all {
		m.List = append(m.List, row(one, i == at))
	}
	if at < 0 {
		return m, nil
	}
	history, err := p.Pools.History(ctx, r.Who, all[at].Pool.Name)
	if fault.Is(err, fault.NotFound) {
		return m, nil // it was removed meanwhile
	}
	if err != nil {
		return m, err
	}
	m.Chosen = detail(all[at], history, r.Now(), may)
	return m, nil
}

// ask answers with the form of a pool, ?pool=, or of a new one.
func (p *site) ask(c echo.Context, who tenancy.Principal) error {
	name := c.QueryParam("pool")
	if name == "" {
		return p.form(c, who, http.StatusOK, "", fill("", pools.Template{Max: 1, CoolDownSeconds: pools.DefaultCoolDown,
			Offers: pools.Offers{Seats: 1}}))
	}
	one, err := p.Pools.Get(c.Request().Context(), who, name)
	if err != nil {
		return err
	}
	return p.form(c, who, http.StatusOK, name, fill(name, one.Template))
}

// save makes a pool, or replaces the template of one that is there, or shows the refused form with all that was typed.
func (p *site) save(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	f := fields.Read(typed)
	in, err := fields.Value(f)
	isThere := typed.Get("fixed") != ""
	switch {
	case err != nil:
	case isThere:
		_, _, err = p.Pools.Put(c.Request().Context(), who, in.name, in.template())
	default:
		_, err = p.Pools.Make(c.Request().Context(), who, in.name, in.template())
	}
	if err == nil {
		p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: in.name + " was saved", Text: "Scalers go by it from now on."})
		return web.SeeOther(c, links.Pool(in.name))
	}
	if err := fields.Refuse(&f, err, fault.InUse); err != nil {
		return err
	}
	fixed := ""
	if isThere {
		fixed = in.name
	}
	return p.form(c, who, http.StatusUnprocessableEntity, fixed, f)
}

// remove takes a pool away.
func (p *site) remove(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	name := typed.Get("name")
	if err := p.Pools.Delete(c.Request().Context(), who, name); err != nil {
		return err
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: name + " was removed", Text: "Its factories go on, and belong to no pool."})
	return web.SeeOther(c, links.Pools)
}

// form shows the form of a pool within the shell; fixed is the name of one that is there.
func (p *site) form(c echo.Context, who tenancy.Principal, status int, fixed string, f ui.Form) error {
	around, err := p.Screens.PageContext(c.Request().Context(), who)
	if err != nil {
		return err
	}
	m := view.FormPage{Title: "New pool", Back: links.Pools, Fixed: fixed, Form: f}
	if fixed != "" {
		m.Title, m.Back = "Edit "+fixed, links.Pool(fixed)
		m.Remove = &ui.Action{Verb: "remove", Label: "Remove", URL: links.RemovePool, Danger: true, Dialog: &ui.Dialog{
			Title: "Remove " + fixed + "?", Keep: "Keep it", Confirm: "Remove the pool",
			Text: ui.Text("Its factories go on and belong to no pool; what was recorded of it is gone.")}}
	}
	if m.Shell, err = p.Page(c, who, around.Fleet, layout.SectionAgents, m.Title); err != nil {
		return err
	}
	return web.Render(c, status, view.FormView(m))
}
