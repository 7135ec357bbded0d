package budgets

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/budgets"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// askEdit answers with the form of an edit. ?throttle= and ?hard= tick a box of it.
func (p *pages) askEdit(c echo.Context, who tenancy.Principal) error {
	b, err := p.named(c, who)
	if err != nil {
		return err
	}
	f := fields.Fill(proposed(budgets.Input{Name: b.Name, Limits: b.Limits, Slice: &b.Slice, AlertAt: b.AlertAt, Hard: b.Hard,
		Throttle: b.Throttle, Unpriced: b.Unpriced}, c.QueryParams()))
	return p.editForm(c, who, http.StatusOK, b, strconv.Itoa(b.Version), f)
}

// edit changes a budget, or shows the refused form with all that was typed.
func (p *pages) edit(c echo.Context, who tenancy.Principal) error {
	b, err := p.named(c, who)
	if err != nil {
		return err
	}
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	f := fields.Read(typed)
	in, err := fields.Value(f)
	version, broken := strconv.Atoi(typed.Get("version"))
	if broken != nil {
		err = fault.Invalid("version", "The form is broken: open it again.")
	}
	if err == nil {
		_, err = p.Budgets.Change(c.Request().Context(), who, b.ID, patch(in, version))
	}
	if err == nil {
		p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: in.Name + " was changed", Text: "Another limit counts from now on."})
		return web.SeeOther(c, links.Budget(b.ID.String()))
	}
	if err := fields.Refuse(&f, err, fault.InUse, fault.OverBudget, fault.VersionConflict); err != nil {
		return err
	}
	return p.editForm(c, who, http.StatusUnprocessableEntity, b, typed.Get("version"), f)
}

// patch returns the change that a form describes. The slice stays where nothing is typed, and what
// it does with models without a price where the form had no such field.
func patch(in budgets.Input, version int) budgets.Patch {
	change := budgets.Patch{Version: &version, Name: &in.Name, Money: budgets.Ceiling[spend.Nanos]{Set: true, Value: in.Limits.Money},
		Tokens: budgets.Ceiling[int64]{Set: true, Value: in.Limits.Tokens}, Runs: budgets.Ceiling[int64]{Set: true, Value: in.Limits.Runs},
		Hard: &in.Hard, Slice: in.Slice, AlertAt: &in.AlertAt, Throttle: &in.Throttle}
	if in.Unpriced != "" {
		change.Unpriced = &in.Unpriced
	}
	return change
}

func (p *pages) editForm(c echo.Context, who tenancy.Principal, status int, b budgets.Budget, version string, f ui.Form) error {
	id := b.ID.String()
	remove := &ui.Action{Verb: "remove", Label: "Remove", URL: links.RemoveBudget(id), Danger: true, Dialog: &ui.Dialog{
		Title: "Remove " + b.Name + "?", Keep: "Keep it", Confirm: "Remove the budget",
		Text: ui.Text("Nothing is held for it any more, and jobs that waited for it go on. Its ledger stays in the database.")}}
	return p.form(c, who, status, view.FormPage{Title: "Edit " + b.Name, URL: links.EditBudget(id), Back: links.Budget(id), Submit: "Save",
		Fixed: facts(b)[:2], Version: version, Form: f, Remove: remove})
}

// remove removes a budget.
func (p *pages) remove(c echo.Context, who tenancy.Principal) error {
	b, err := p.named(c, who)
	if err != nil {
		return err
	}
	if err := p.Budgets.Remove(c.Request().Context(), who, b.ID); err != nil {
		return err
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: b.Name + " was removed", Text: "Jobs that waited for it go on."})
	return web.SeeOther(c, links.Budgets)
}
