package budgets

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/budgets"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// askRaise answers with the form of a raise. ?amount_usd= and ?reason= begin it.
func (p *pages) askRaise(c echo.Context, who tenancy.Principal) error {
	b, err := p.named(c, who)
	if err != nil {
		return err
	}
	return p.raiseForm(c, who, http.StatusOK, b, raiseFields.Read(c.QueryParams()))
}

// raise gives the present period of a budget more money, or shows the refused form with
// all that was typed.
func (p *pages) raise(c echo.Context, who tenancy.Principal) error {
	b, err := p.named(c, who)
	if err != nil {
		return err
	}
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	f := raiseFields.Read(typed)
	r, err := raiseFields.Value(f)
	if err == nil {
		_, err = p.Budgets.Raise(c.Request().Context(), who, b.ID, r)
	}
	if err == nil {
		p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: b.Name + " was raised", Text: "Jobs that waited for it go on as far as it reaches."})
		return web.SeeOther(c, links.Budget(b.ID.String()))
	}
	if err := raiseFields.Refuse(&f, err); err != nil {
		return err
	}
	return p.raiseForm(c, who, http.StatusUnprocessableEntity, b, f)
}

// named returns the budget of the request. NotFound where there is none.
func (p *pages) named(c echo.Context, who tenancy.Principal) (budgets.Budget, error) {
	id, ok := ids.Parse(c.Param("budget"))
	if !ok {
		return budgets.Budget{}, fault.New(fault.NotFound, "There is no such budget in this workspace.")
	}
	return p.Budgets.Get(c.Request().Context(), who, id)
}

func (p *pages) raiseForm(c echo.Context, who tenancy.Principal, status int, b budgets.Budget, f ui.Form) error {
	around, err := p.Screens.PageContext(c.Request().Context(), who)
	if err != nil {
		return err
	}
	shell, err := p.Page(c, who, around.Fleet, layout.SectionBudgets, "Raise "+b.Name)
	if err != nil {
		return err
	}
	m := toMeasure(b.State)
	return web.Render(c, status, view.RaiseView(view.RaisePage{Shell: shell, Name: b.Name, URL: links.RaiseBudget(b.ID.String()),
		Back: links.Budget(b.ID.String()), Stands: m.freeText() + " of " + m.limitText() + " is free.", Form: f}))
}
