package budgets

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/fault"
	"fleetboard/internal/spend"
	"fleetboard/internal/spend/budgets"
	"fleetboard/internal/tenancy"
	view "fleetboard/views/budgets"
	"fleetboard/views/layout"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// ask is the form of a new budget.
func (p *Pages) ask(c echo.Context, who tenancy.Principal) error {
	return p.form(c, who, http.StatusOK, view.Form{Scope: string(budgets.Workspace),
		Period: string(budgets.Month), Timezone: "UTC", Hard: true})
}

// create makes a budget, or shows the refused form with all that was typed.
func (p *Pages) create(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	f := parseForm(typed)
	in := budgets.Input{Name: f.Name, Scope: budgets.Scope(f.Scope), Product: f.Product, Phase: f.Phase, Job: f.Job,
		Period: budgets.Period(f.Period), Timezone: f.Timezone, Hard: f.Hard}
	amount, err := spend.ParseAmount("limit_usd", f.Limit, budgets.MaxMoney)
	if err == nil {
		in.Limits.Money = &amount
		var made budgets.Budget
		if made, err = p.Budgets.Create(c.Request().Context(), who, in); err == nil {
			p.Web.SetFlash(c, ui.Toast{Tone: ui.OK, Title: made.Name + " was made", Text: "What was spent before does not count."})
			return web.SeeOther(c, links.Budget(made.ID.String()))
		}
	}
	refused := fault.From(err)
	switch refused.Code {
	case fault.Validation:
		f.Errors = refused.Fields
	case fault.InUse:
		f.Error = refused.Message
	default:
		return err
	}
	return p.form(c, who, http.StatusUnprocessableEntity, f)
}

func parseForm(typed url.Values) view.Form {
	get := func(name string) string { return strings.TrimSpace(typed.Get(name)) }
	return view.Form{Name: get("name"), Scope: get("scope"), Product: get("product"), Phase: get("phase"), Job: get("job"),
		Period: get("period"), Timezone: get("timezone"), Limit: get("limit_usd"), Hard: get("hard") == "1"}
}

func (p *Pages) form(c echo.Context, who tenancy.Principal, status int, f view.Form) error {
	around, err := p.Kanban.PageContext(c.Request().Context(), who)
	if err != nil {
		return err
	}
	shell, err := p.Web.Page(c, who, around.Fleet, layout.SectionBudgets, "New budget")
	if err != nil {
		return err
	}
	return web.Render(c, status, view.FormView(view.FormPage{Shell: shell, Form: f}))
}
