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

// ask is the form of a new budget.
func (p *Pages) ask(c echo.Context, who tenancy.Principal) error {
	return p.newForm(c, who, http.StatusOK, view.Form{Scope: string(budgets.Workspace), Period: string(budgets.Month), Timezone: "UTC",
		Alerts: "50, 80, 90, 100", Hard: true})
}

// create makes a budget, or shows the refused form with all that was typed.
func (p *Pages) create(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	f := parseForm(typed)
	in, wrong := f.input()
	if len(wrong) == 0 {
		made, err := p.Budgets.Create(c.Request().Context(), who, in)
		if err == nil {
			p.Web.SetFlash(c, ui.Toast{Tone: ui.OK, Title: made.Name + " was made", Text: "What was spent before does not count."})
			return web.SeeOther(c, links.Budget(made.ID.String()))
		}
		if wrong, err = f.refused(err); err != nil {
			return err
		}
	}
	f.Errors = wrong
	return p.newForm(c, who, http.StatusUnprocessableEntity, view.Form(f))
}

func (p *Pages) newForm(c echo.Context, who tenancy.Principal, status int, f view.Form) error {
	f.URL, f.Back, f.Submit = links.Budgets, links.Budgets, "Make the budget"
	return p.form(c, who, status, view.FormPage{Title: "New budget", Form: f})
}

// form shows a form within the shell.
func (p *Pages) form(c echo.Context, who tenancy.Principal, status int, m view.FormPage) error {
	around, err := p.Screens.PageContext(c.Request().Context(), who)
	if err != nil {
		return err
	}
	m.Form.Products, m.Form.Phases = around.Products, around.Phases
	if m.Shell, err = p.Web.Page(c, who, around.Fleet, layout.SectionBudgets, m.Title); err != nil {
		return err
	}
	return web.Render(c, status, view.FormView(m))
}

// refused is what of a form an error refuses; the error itself where it is about something
// else.
func (f *form) refused(err error) (map[string]string, error) {
	refused := fault.From(err)
	switch refused.Code {
	case fault.Validation:
		return toFormFields(refused.Fields), nil
	case fault.InUse, fault.OverBudget, fault.VersionConflict:
		f.Error = refused.Message
		return map[string]string{}, nil
	default:
		return nil, err
	}
}
