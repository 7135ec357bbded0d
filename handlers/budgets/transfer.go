package budgets

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/budgets"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// askTransfer is the form of a transfer. ?from= and ?to= begin it.
func (p *Pages) askTransfer(c echo.Context, who tenancy.Principal) error {
	return p.transferForm(c, who, http.StatusOK, view.Transfer{From: c.QueryParam("from"), To: c.QueryParam("to")})
}

// transfer moves money to another budget, or shows the refused form with all that was
// typed.
func (p *Pages) transfer(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	get := func(name string) string { return strings.TrimSpace(typed.Get(name)) }
	f := view.Transfer{From: get("from"), To: get("to"), Amount: get("amount_usd"), Reason: get("reason")}
	from, amount, err := p.move(c, who, f)
	if err == nil {
		p.Web.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "$" + amount.USD() + " were transferred", Text: "The ledger takes it back.",
			ActionLabel: "Ledger", ActionURL: links.BudgetLedger(from.String(), "transfer", 0)})
		return web.SeeOther(c, links.Budget(from.String()))
	}
	switch refused := fault.From(err); refused.Code {
	case fault.Validation:
		f.Errors = refused.Fields
	case fault.OverBudget:
		f.Errors = map[string]string{"amount_usd": refused.Message}
	default:
		return err
	}
	return p.transferForm(c, who, http.StatusUnprocessableEntity, f)
}

// move carries out what was typed.
func (p *Pages) move(c echo.Context, who tenancy.Principal, f view.Transfer) (from ids.ID, amount spend.Nanos, err error) {
	problems := fault.Problems{}
	from, known := ids.Parse(f.From)
	if !known {
		problems.Add("from", "Choose the budget that gives it.")
	}
	to, known := ids.Parse(f.To)
	if !known {
		problems.Add("to", "Choose the budget that gets it.")
	}
	amount, err = spend.ParseAmount("amount_usd", strings.TrimPrefix(f.Amount, "$"), budgets.MaxMoney)
	if err != nil {
		problems.Add("amount_usd", "%s", fault.From(err).Fields["amount_usd"])
	}
	if err := problems.Err(); err != nil {
		return from, amount, err
	}
	_, err = p.Budgets.Transfer(c.Request().Context(), who, from, budgets.Transfer{To: to, Amount: amount, Reason: f.Reason})
	return from, amount, err
}

func (p *Pages) transferForm(c echo.Context, who tenancy.Principal, status int, f view.Transfer) error {
	around, err := p.Screens.PageContext(c.Request().Context(), who)
	if err != nil {
		return err
	}
	list, err := p.Budgets.List(c.Request().Context(), who)
	if err != nil {
		return err
	}
	shell, err := p.Web.Page(c, who, around.Fleet, layout.SectionBudgets, "Transfer")
	if err != nil {
		return err
	}
	f.Givers, f.Takers = []ui.Option{{Label: "Choose a budget"}}, []ui.Option{{Label: "Choose a budget"}}
	for _, b := range inOrder(list) {
		if b.State.Limits.Money == nil {
			continue
		}
		name := b.Name + ", " + about(b)
		f.Givers = append(f.Givers, ui.Option{Value: b.ID.String(), Label: name + ", " + toMeasure(b.State).freeText() + " free"})
		f.Takers = append(f.Takers, ui.Option{Value: b.ID.String(), Label: name})
	}
	return web.Render(c, status, view.TransferView(view.TransferPage{Shell: shell, Form: f}))
}

// stop takes that a budget stays used up.
func (p *Pages) stop(c echo.Context, who tenancy.Principal) error {
	b, err := p.named(c, who)
	if err != nil {
		return err
	}
	if err := p.Budgets.Stop(c.Request().Context(), who, b.ID); err != nil {
		return err
	}
	p.Web.SetFlash(c, ui.Toast{Tone: ui.OK, Title: b.Name + " stays used up",
		Text: "Its jobs wait until its limit changes or its period ends."})
	return web.SeeOther(c, links.NeedsYou)
}
