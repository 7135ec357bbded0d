package budgets

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/spend"
	"fleetboard/internal/spend/budgets"
	"fleetboard/internal/tenancy"
	view "fleetboard/views/budgets"
	"fleetboard/views/layout"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// askTransfer is the form of a transfer.
func (p *Pages) askTransfer(c echo.Context, who tenancy.Principal) error {
	b, err := p.named(c, who)
	if err != nil {
		return err
	}
	return p.transferForm(c, who, http.StatusOK, b, view.Transfer{})
}

// transfer moves money to another budget, or shows the refused form with all that was
// typed.
func (p *Pages) transfer(c echo.Context, who tenancy.Principal) error {
	b, err := p.named(c, who)
	if err != nil {
		return err
	}
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	get := func(name string) string { return strings.TrimSpace(typed.Get(name)) }
	f := view.Transfer{To: get("to"), Amount: get("amount_usd"), Reason: get("reason")}
	to, known := ids.Parse(f.To)
	amount, err := spend.ParseAmount("amount_usd", strings.TrimPrefix(f.Amount, "$"), budgets.MaxMoney)
	if !known {
		err = fault.Invalid("to", "Choose the budget that gets it.")
	}
	if err == nil {
		_, err = p.Budgets.Transfer(c.Request().Context(), who, b.ID, budgets.Transfer{To: to, Amount: amount, Reason: f.Reason})
	}
	if err == nil {
		p.Web.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "$" + amount.USD() + " were transferred", Text: "The ledger takes it back.",
			ActionLabel: "Ledger", ActionURL: links.BudgetLedger(b.ID.String(), "transfer", 0)})
		return web.SeeOther(c, links.Budget(b.ID.String()))
	}
	switch refused := fault.From(err); refused.Code {
	case fault.Validation:
		f.Errors = refused.Fields
	case fault.OverBudget:
		f.Errors = map[string]string{"amount_usd": refused.Message}
	default:
		return err
	}
	return p.transferForm(c, who, http.StatusUnprocessableEntity, b, f)
}

func (p *Pages) transferForm(c echo.Context, who tenancy.Principal, status int, b budgets.Budget, f view.Transfer) error {
	around, err := p.Kanban.PageContext(c.Request().Context(), who)
	if err != nil {
		return err
	}
	list, err := p.Budgets.List(c.Request().Context(), who)
	if err != nil {
		return err
	}
	shell, err := p.Web.Page(c, who, around.Fleet, layout.SectionBudgets, "Transfer from "+b.Name)
	if err != nil {
		return err
	}
	m := measureOf(b.State)
	f.URL, f.Back = links.TransferBudget(b.ID.String()), links.Budget(b.ID.String())
	f.Stands = m.freeText() + " of " + m.limitText() + " is free."
	f.Takers = []ui.Option{{Label: "Choose a budget"}}
	for _, other := range inOrder(list) {
		if other.ID != b.ID && other.State.Limits.Money != nil {
			f.Takers = append(f.Takers, ui.Option{Value: other.ID.String(), Label: other.Name + ", " + about(other)})
		}
	}
	return web.Render(c, status, view.TransferView(view.TransferPage{Shell: shell, Name: b.Name, Form: f}))
}
