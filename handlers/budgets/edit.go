package budgets

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/budgets"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// askEdit is the form of an edit.
func (p *Pages) askEdit(c echo.Context, who tenancy.Principal) error {
	b, err := p.named(c, who)
	if err != nil {
		return err
	}
	return p.editForm(c, who, http.StatusOK, b, view.Form(fillForm(b)))
}

// edit changes a budget, or shows the refused form with all that was typed.
func (p *Pages) edit(c echo.Context, who tenancy.Principal) error {
	b, err := p.named(c, who)
	if err != nil {
		return err
	}
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	f := parseForm(typed)
	change, wrong := f.patch()
	if len(wrong) == 0 {
		_, err := p.Budgets.Change(c.Request().Context(), who, b.ID, change)
		if err == nil {
			p.Web.SetFlash(c, ui.Toast{Tone: ui.OK, Title: f.Name + " was changed", Text: "Another limit counts from now on."})
			return web.SeeOther(c, links.Budget(b.ID.String()))
		}
		if wrong, err = f.refused(err); err != nil {
			return err
		}
	}
	f.Errors = wrong
	return p.editForm(c, who, http.StatusUnprocessableEntity, b, view.Form(f))
}

func (p *Pages) editForm(c echo.Context, who tenancy.Principal, status int, b budgets.Budget, f view.Form) error {
	id := b.ID.String()
	f.URL, f.Back, f.Submit = links.EditBudget(id), links.Budget(id), "Save"
	f.Fixed = facts(b)[:2]
	remove := &ui.Action{Verb: "remove", Label: "Remove", URL: links.RemoveBudget(id), Danger: true, Dialog: &ui.Dialog{
		Title: "Remove " + b.Name + "?", Keep: "Keep it", Confirm: "Remove the budget",
		Text: ui.Text("Nothing is held for it any more, and jobs that waited for it go on. Its ledger stays in the database.")}}
	return p.form(c, who, status, view.FormPage{Title: "Edit " + b.Name, Form: f, Remove: remove})
}

// remove removes a budget.
func (p *Pages) remove(c echo.Context, who tenancy.Principal) error {
	b, err := p.named(c, who)
	if err != nil {
		return err
	}
	if err := p.Budgets.Remove(c.Request().Context(), who, b.ID); err != nil {
		return err
	}
	p.Web.SetFlash(c, ui.Toast{Tone: ui.OK, Title: b.Name + " was removed", Text: "Jobs that waited for it go on."})
	return web.SeeOther(c, links.Budgets)
}
