package budgets

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/budgets"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// ask answers with the form of a new budget.
func (p *pages) ask(c echo.Context, who tenancy.Principal) error {
	return p.newForm(c, who, http.StatusOK, fields.Fill(budgets.Input{Scope: budgets.Workspace, Period: budgets.Month, Timezone: "UTC",
		AlertAt: []int{50, 80, 90, 100}, Hard: true}))
}

// create makes a budget, or shows the refused form with all that was typed.
func (p *pages) create(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	f := fields.Read(typed)
	in, err := fields.Value(f)
	ofScope(&in)
	if err == nil {
		var made budgets.Budget
		if made, err = p.Budgets.Create(c.Request().Context(), who, in); err == nil {
			p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: made.Name + " was made", Text: "What was spent before does not count."})
			return web.SeeOther(c, links.Budget(made.ID.String()))
		}
	}
	if err := fields.Refuse(&f, err, fault.InUse, fault.OverBudget, fault.VersionConflict); err != nil {
		return err
	}
	return p.newForm(c, who, http.StatusUnprocessableEntity, f)
}

// ofScope forgets what was typed for another scope: the form hides it.
func ofScope(in *budgets.Input) {
	if in.Scope == budgets.Workspace || in.Scope == budgets.Job {
		in.Product = ""
	}
	if in.Scope != budgets.Milestone {
		in.Phase = ""
	}
	if in.Scope != budgets.Job {
		in.Job = ""
	}
}

func (p *pages) newForm(c echo.Context, who tenancy.Principal, status int, f ui.Form) error {
	return p.form(c, who, status, view.FormPage{Title: "New budget", URL: links.Budgets, Back: links.Budgets, Submit: "Make the budget",
		Form: f})
}

// form shows a form within the shell.
func (p *pages) form(c echo.Context, who tenancy.Principal, status int, m view.FormPage) error {
	around, err := p.Screens.PageContext(c.Request().Context(), who)
	if err != nil {
		return err
	}
	m.Products, m.Phases = []ui.Option{{Label: "None"}}, around.Phases
	for _, name := range around.Products {
		m.Products = append(m.Products, ui.Option{Value: name, Label: name})
	}
	if m.Shell, err = p.Page(c, who, around.Fleet, layout.SectionBudgets, m.Title); err != nil {
		return err
	}
	return web.Render(c, status, view.FormView(m))
}
