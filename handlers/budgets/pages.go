// Package budgets is the page of budgets: what is left of each, and whether it lasts.
package budgets

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/budgets"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
)

// Deps is what the page needs.
type Deps struct {
	Web       *web.Site
	Budgets   *budgets.Service
	Usage     *usage.Service
	Estimates *estimates.Service
	Screens   *screens.Service
}

// Pages answers the requests of the page.
type Pages struct{ Deps }

// New returns the page.
func New(d Deps) *Pages { return &Pages{d} }

// Routes are the pages, each with the permission it needs.
func (p *Pages) Routes() []web.Route {
	return []web.Route{
		web.Get(links.Budgets, tenancy.ReadBoard, p.show),
		web.Get(links.NewBudget, tenancy.Manage, p.ask),
		web.Post(links.Budgets, tenancy.Manage, p.create),
		web.Get(links.Budgets+"/:budget/ledger", tenancy.ReadBoard, p.ledger),
		web.Get(links.Budgets+"/:budget/edit", tenancy.Manage, p.askEdit),
		web.Post(links.Budgets+"/:budget/edit", tenancy.Manage, p.edit),
		web.Post(links.Budgets+"/:budget/remove", tenancy.Manage, p.remove),
		web.Get(links.Transfer, tenancy.Manage, p.askTransfer),
		web.Post(links.Transfer, tenancy.Manage, p.transfer),
		web.Post(links.Budgets+"/:budget/stop", tenancy.Manage, p.stop),
		web.Post(links.Budgets+"/:budget/undo", tenancy.Manage, p.undo),
		web.Get(links.Budgets+"/:budget/raise", tenancy.Manage, p.askRaise),
		web.Post(links.Budgets+"/:budget/raise", tenancy.Manage, p.raise),
	}
}

// Live is the page among those with a live part.
func (p *Pages) Live() live.Page { return livePage{p} }

// show is the page. ?budget= names the one that is shown at length.
func (p *Pages) show(c echo.Context, who tenancy.Principal) error {
	ctx, chosen := c.Request().Context(), c.QueryParam("budget")
	around, err := p.Screens.PageContext(ctx, who)
	if err != nil {
		return err
	}
	m, err := p.read(ctx, who, chosen)
	if err != nil {
		return err
	}
	compared, err := p.estimates(ctx, who)
	if err != nil {
		return err
	}
	shell, err := p.Web.Page(c, who, around.Fleet, layout.SectionBudgets, "Budgets")
	if err != nil {
		return err
	}
	shell.LiveURL = links.LiveBudgets(around.Cursor, chosen)
	return web.Render(c, http.StatusOK, view.View(view.Page{Shell: shell, Budgets: m, Estimates: compared}))
}

// read makes the live part of the page.
func (p *Pages) read(ctx context.Context, who tenancy.Principal, chosen string) (view.Budgets, error) {
	list, err := p.Budgets.List(ctx, who)
	if err != nil {
		return view.Budgets{}, err
	}
	list = inOrder(list)
	m := model(list, chosen, who.Can(tenancy.Manage))
	if len(list) == 0 {
		return m, nil
	}
	one, bucket := list[indexChosen(list, chosen)], budgets.Hourly
	if one.Period == budgets.Once || one.Period == budgets.Quarter {
		bucket = budgets.Daily
	}
	series, err := p.Budgets.Series(ctx, who, one.ID, bucket)
	if err != nil {
		return m, err
	}
	m.Chart = chart(series)
	m.Models, err = p.models(ctx, who, one, time.Now())
	return m, err
}
