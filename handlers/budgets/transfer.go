package budgets

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/budgets"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// askTransfer answers with the form of a transfer. ?from= and ?to= begin it.
func (p *pages) askTransfer(c echo.Context, who tenancy.Principal) error {
	return p.transferForm(c, who, http.StatusOK, transferFields.Read(c.QueryParams()))
}

// transfer moves money to another budget, or shows the refused form with all that was
// typed.
func (p *pages) transfer(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	f := transferFields.Read(typed)
	t, err := transferFields.Value(f)
	if err == nil {
		_, err = p.Budgets.Transfer(c.Request().Context(), who, t.from, t.Transfer)
	}
	if err == nil {
		p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: t.Amount.String() + " were transferred", Text: "The ledger takes it back.",
			ActionLabel: "Ledger", ActionURL: links.BudgetLedger(t.from.String(), "transfer")})
		return web.SeeOther(c, links.Budget(t.from.String()))
	}
	if fault.Is(err, fault.OverBudget) {
		err = fault.Invalid("amount_usd", "%s", fault.From(err).Message)
	}
	if err := transferFields.Refuse(&f, err); err != nil {
		return err
	}
	return p.transferForm(c, who, http.StatusUnprocessableEntity, f)
}

func (p *pages) transferForm(c echo.Context, who tenancy.Principal, status int, f ui.Form) error {
	around, err := p.Screens.PageContext(c.Request().Context(), who)
	if err != nil {
		return err
	}
	list, err := p.Budgets.List(c.Request().Context(), who)
	if err != nil {
		return err
	}
	shell, err := p.Page(c, who, around.Fleet, layout.SectionBudgets, "Transfer")
	if err != nil {
		return err
	}
	none := []ui.Option{{Label: "Choose a budget"}}
	m := view.TransferPage{Shell: shell, Form: f, Givers: none, Takers: slices.Clone(none)}
	for _, b := range inOrder(list) {
		if b.State.Money == nil {
			continue
		}
		name := b.Name + ", " + about(b)
		m.Givers = append(m.Givers, ui.Option{Value: b.ID.String(), Label: name + ", " + toMeasure(b.State).freeText() + " free"})
		m.Takers = append(m.Takers, ui.Option{Value: b.ID.String(), Label: name})
	}
	return web.Render(c, status, view.TransferView(m))
}

// stop takes that a budget stays used up.
func (p *pages) stop(c echo.Context, who tenancy.Principal) error {
	b, err := p.named(c, who)
	if err != nil {
		return err
	}
	if err := p.Budgets.Stop(c.Request().Context(), who, b.ID); err != nil {
		return err
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: b.Name + " stays used up",
		Text: "Its jobs wait until its limit changes or its period ends."})
	return web.SeeOther(c, links.NeedsYou)
}
