package budgets

import (
	"net/http"
	"strconv"
	"time"

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

// shownLines is a page of a ledger.
const shownLines = 50

// kindGroups are the lines that a ledger can be narrowed to.
var kindGroups = []struct {
	name, text string
	kinds      []budgets.Kind
}{
	{"", "All", nil},
	{"limit", "Limit", []budgets.Kind{budgets.Granted, budgets.Raised, budgets.Expired}},
	{"transfer", "Transfers", []budgets.Kind{budgets.TransferredIn, budgets.TransferredOut}},
	{"settle", "Settled", []budgets.Kind{budgets.Settled}},
	{"reserve", "Reserved", []budgets.Kind{budgets.Reserved, budgets.ToppedUp, budgets.Freeing, budgets.Adjusted}},
}

// ledger answers with the page of a budget's lines.
func (p *pages) ledger(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	b, err := p.named(c, who)
	if err != nil {
		return err
	}
	query := budgets.LedgerQuery{Limit: shownLines}
	if text := c.QueryParam("before"); text != "" {
		if query.Before, err = strconv.ParseInt(text, 10, 64); err != nil {
			return fault.Invalid("before", "It must be the number of a line.")
		}
	}
	id, chosen := b.ID.String(), c.QueryParam("kind")
	m := view.LedgerPage{Name: b.Name, Back: links.Budget(id)}
	for _, g := range kindGroups {
		if g.name == chosen {
			query.Kinds = g.kinds
		}
		m.Kinds = append(m.Kinds, ui.Tab{Text: g.text, URL: links.BudgetLedger(id, g.name, 0), Current: g.name == chosen})
	}
	list, next, err := p.Budgets.Ledger(ctx, who, b.ID, query)
	if err != nil {
		return err
	}
	around, err := p.Screens.PageContext(ctx, who)
	if err != nil {
		return err
	}
	if m.Shell, err = p.Page(c, who, around.Fleet, layout.SectionBudgets, "Ledger of "+b.Name); err != nil {
		return err
	}
	if next > 0 {
		m.Older = links.BudgetLedger(id, chosen, next)
	}
	if who.Can(tenancy.Manage) {
		m.UndoTo = links.UndoBudget(id)
	}
	for _, l := range list {
		m.Lines = append(m.Lines, toLine(l, b, web.Now(around.Fleet)))
	}
	return web.Render(c, http.StatusOK, view.LedgerView(m))
}

// lineWords says what a line does.
var lineWords = map[budgets.Kind]string{budgets.Granted: "Limit of the period", budgets.Raised: "Raised",
	budgets.Expired: "Taken off the limit", budgets.TransferredIn: "Transferred in", budgets.TransferredOut: "Transferred out",
	budgets.Reserved: "Reserved",
	budgets.ToppedUp: "Reserved more", budgets.Settled: "Settled", budgets.Freeing: "Freed",
	budgets.Adjusted: "Put right"}

func toLine(l budgets.Line, b budgets.Budget, now time.Time) view.Line {
	m := view.Line{ID: strconv.FormatInt(l.ID, 10), At: ui.Ago(l.At, now), What: lineWords[l.Kind], Job: l.JobKey, By: l.Actor}
	if l.Money != 0 {
		m.Amount = lineSign(l) + l.Money.String()
	}
	if l.Tokens != 0 {
		m.Tokens = ui.Count(int(l.Tokens))
	}
	if l.Runs != 0 {
		m.About = ui.Text(web.Plural(int(l.Runs), "run", "runs"))
	}
	switch {
	case l.UnpricedTokens > 0:
		m.About = ui.Text(web.Plural(int(l.UnpricedTokens), "token", "tokens") + " without a price")
	case l.UnpricedTokens < 0:
		m.About = ui.Text("priced later")
	case l.OtherName != "":
		m.About = ui.Say(ui.T(map[bool]string{true: "to ", false: "from "}[l.Kind == budgets.TransferredOut]),
			ui.Link(l.OtherName, links.Budget(l.Other.String())), ui.T(describeReason(l)))
	case l.Reason != "":
		m.About = ui.Text(l.Reason)
	case l.Entry != "":
		m.About = ui.Text(l.Entry)
	}
	if l.Until != nil {
		m.What += " until " + l.Until.In(budgetZone(b)).Format("2 Jan 15:04")
	}
	m.Undoable = (l.Kind == budgets.Raised || l.Kind == budgets.TransferredOut) && l.Reverses == 0 && l.PeriodStart.Equal(b.State.Start)
	return m
}

func describeReason(l budgets.Line) string {
	if l.Reason == "" {
		return ""
	}
	return ": " + l.Reason
}

// lineSign says whether a line changes what may be spent.
func lineSign(l budgets.Line) string {
	switch l.Kind {
	case budgets.Raised, budgets.TransferredIn:
		return "+"
	case budgets.Expired, budgets.TransferredOut:
		return "−"
	}
	return ""
}

// undo takes a raise or a transfer back.
func (p *pages) undo(c echo.Context, who tenancy.Principal) error {
	b, err := p.named(c, who)
	if err != nil {
		return err
	}
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	line, err := strconv.ParseInt(typed.Get("line"), 10, 64)
	if err != nil {
		return fault.Invalid("line", "It must be the number of a line.")
	}
	toast := ui.Toast{Tone: ui.OK, Title: "It was taken back"}
	_, err = p.Budgets.Undo(c.Request().Context(), who, b.ID, line, nil)
	if refused := fault.From(err); err != nil && (refused.Code == fault.OverBudget || refused.Code == fault.InvalidTransition) {
		toast, err = ui.Toast{Tone: ui.Bad, Title: "It was not taken back", Text: refused.Message}, nil
	}
	if err != nil {
		return err
	}
	p.SetFlash(c, toast)
	return web.SeeOther(c, links.BudgetLedger(b.ID.String(), "", 0))
}
