// Package budgets is the page of budgets: what is left of each, and whether it lasts.
package budgets

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/budgets"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
)

// pages are the page with its forms.
type pages struct{ *web.Site }

// New declares the page. ?budget= names the one that is shown at length.
func New(s *web.Site) web.Page[view.Budgets] {
	p := &pages{s}
	return web.Page[view.Budgets]{
		Site: s, Path: links.Budgets, Need: tenancy.ReadBoard, Section: layout.SectionBudgets, Title: "Budgets",
		Read: p.read, View: view.View,
		Live: web.Live[view.Budgets]{
			View: view.Live,
			// Agents that work spend, and usage makes no event of its own.
			Changes: func(u *screens.Update) bool { return u.Fleet != nil || len(u.Changed) > 0 },
			Ages:    true,
		},
		Actions: []web.Route{
			web.Get(links.NewBudget, tenancy.Manage, p.ask),
			web.Post(links.Budgets, tenancy.Manage, p.create),
			web.Get(links.Budgets+"/:budget/ledger", tenancy.ReadBoard, p.ledger),
			web.Get(links.Budgets+"/:budget/ledger.csv", tenancy.ReadBoard, p.ledgerCSV),
			web.Get(links.Budgets+"/:budget/edit", tenancy.Manage, p.askEdit),
			web.Post(links.Budgets+"/:budget/edit", tenancy.Manage, p.edit),
			web.Post(links.Budgets+"/:budget/remove", tenancy.Manage, p.remove),
			web.Get(links.Transfer, tenancy.Manage, p.askTransfer),
			web.Post(links.Transfer, tenancy.Manage, p.transfer),
			web.Post(links.Budgets+"/:budget/stop", tenancy.Manage, p.stop),
			web.Post(links.Budgets+"/:budget/undo", tenancy.Manage, p.undo),
			web.Get(links.Budgets+"/:budget/raise", tenancy.Manage, p.askRaise),
			web.Post(links.Budgets+"/:budget/raise", tenancy.Manage, p.raise),
		},
	}
}

// read reads the budgets.
func (p *pages) read(ctx context.Context, r web.Request) (view.Budgets, error) {
	chosen := r.Query.Get("budget")
	list, err := p.Budgets.List(ctx, r.Who)
	if err != nil {
		return view.Budgets{}, err
	}
	list = inOrder(list)
	m := model(list, chosen, r.Who.Can(tenancy.Manage))
	if m.Estimates, err = p.estimates(ctx, r.Who); err != nil || len(list) == 0 {
		return m, err
	}
	one, bucket := list[indexChosen(list, chosen)], budgets.Hourly
	if one.Period == budgets.Once || one.Period == budgets.Quarter {
		bucket = budgets.Daily
	}
	series, err := p.Budgets.Series(ctx, r.Who, one.ID, bucket)
	if err != nil {
		return m, err
	}
	m.Chart = chart(series)
	if m.Past, err = p.past(ctx, r.Who, one); err != nil {
		return m, err
	}
	m.Models, err = p.usageByModel(ctx, r.Who, one, time.Now())
	return m, err
}
