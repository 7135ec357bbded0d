package budgets

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/usagecsv"
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

const (
	// shownRows is a page of a ledger.
	shownRows = 50
	// writeTime is how long a page of a file may take to be written.
	writeTime = 30 * time.Second
)

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

// kinds returns the kinds of lines of a group.
func kinds(name string) ([]budgets.Kind, error) {
	for _, g := range kindGroups {
		if g.name == name {
			return g.kinds, nil
		}
	}
	return nil, fault.Invalid("kind", "It must be limit, transfer, settle or reserve.")
}

// ledger answers with the ledger of a period: a row for each usage entry, and for each other line.
func (p *pages) ledger(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	b, err := p.named(c, who)
	if err != nil {
		return err
	}
	query := budgets.RowsQuery{Limit: shownRows}
	if query.Period, err = period(c); err != nil {
		return err
	}
	if text := c.QueryParam("before"); text != "" {
		if query.From, err = budgets.ParseRowCursor("before", text); err != nil {
			return err
		}
	}
	id, chosen := b.ID.String(), c.QueryParam("kind")
	if query.Kinds, err = kinds(chosen); err != nil {
		return err
	}
	rows, err := p.Budgets.Rows(ctx, who, b.ID, query)
	if err != nil {
		return err
	}
	around, err := p.Screens.PageContext(ctx, who)
	if err != nil {
		return err
	}
	m := view.LedgerPage{Name: b.Name, Back: links.Budget(id), Period: ledgerPeriod(b, rows.Period.Start)}
	if m.Shell, err = p.Page(c, who, around.Fleet, layout.SectionBudgets, "Ledger of "+b.Name); err != nil {
		return err
	}
	start, shown := periodText(rows.Period.Start), ""
	if !rows.Period.Start.Equal(b.State.Start) {
		m.Present, shown = links.BudgetLedger(id, chosen), start
	}
	for _, g := range kindGroups {
		m.Kinds = append(m.Kinds, ui.Tab{Text: g.text, URL: links.BudgetLedgerFrom(id, g.name, shown, ""), Current: g.name == chosen})
	}
	if rows.Next != "" {
		m.Older = links.BudgetLedgerFrom(id, chosen, start, rows.Next)
	}
	if who.Can(tenancy.Manage) {
		m.UndoTo = links.UndoBudget(id)
	}
	m.CSV, m.Running = links.BudgetLedgerCSV(id, start), query.Kinds == nil
	for _, r := range rows.Rows {
		m.Lines = append(m.Lines, toLine(r, rows.Period, b, web.Now(around.Fleet)))
	}
	return web.Render(c, http.StatusOK, view.LedgerView(m))
}

// ledgerCSV answers with all rows of a period as CSV, page by page. What breaks off is cut, so that
// nobody takes a part for the whole.
func (p *pages) ledgerCSV(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	b, err := p.named(c, who)
	if err != nil {
		return err
	}
	query := budgets.RowsQuery{Limit: budgets.MaxRows}
	if query.Period, err = period(c); err != nil {
		return err
	}
	first, err := p.Budgets.Rows(ctx, who, b.ID, query)
	if err != nil {
		return err
	}
	query.Period = first.Period.Start
	head := c.Response().Header()
	name := "ledger-" + web.FileName(b.Name)
	if b.Period != budgets.Once {
		name += "-" + query.Period.In(budgetZone(b)).Format(time.DateOnly)
	}
	head.Set(echo.HeaderContentDisposition, "attachment; filename="+strconv.Quote(name+".csv"))
	head.Set(echo.HeaderContentType, usagecsv.ContentType)
	c.Response().WriteHeader(http.StatusOK)
	err = usagecsv.WriteLedger(c.Response(), first, func(cursor string) (page budgets.Rows, err error) {
		// Where the connection cannot be given more time, the server's own limit holds.
		_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(writeTime))
		if query.From, err = budgets.ParseRowCursor("before", cursor); err != nil {
			return page, err
		}
		turn, err := p.Turns.Await(ctx, who)
		if err != nil {
			return page, err
		}
		defer turn.End()
		return p.Budgets.Rows(ctx, who, b.ID, query)
	})
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// period returns the start of the period that is wanted, the zero value for the present one.
func period(c echo.Context) (time.Time, error) {
	text := c.QueryParam("period")
	if text == "" {
		return time.Time{}, nil
	}
	start, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fault.Invalid("period", "It must be the time at which a period begins, like 2026-11-01T00:00:00Z.")
	}
	return start, nil
}

func periodText(start time.Time) string { return start.UTC().Format(time.RFC3339Nano) }

// ledgerPeriod says which period a ledger is of.
func ledgerPeriod(b budgets.Budget, start time.Time) ui.Sentence {
	if b.Period == budgets.Once {
		return ui.Text("All time")
	}
	return periodName(b, start)
}

// lineWords says what a line does.
var lineWords = map[budgets.Kind]string{budgets.Granted: "Limit of the period", budgets.Raised: "Raised",
	budgets.Expired: "Taken off the limit", budgets.TransferredIn: "Transferred in", budgets.TransferredOut: "Transferred out",
	budgets.Reserved: "Reserved", budgets.ToppedUp: "Reserved more", budgets.Settled: "Settled", budgets.Freeing: "Freed",
	budgets.Adjusted: "Put right"}

func toLine(r budgets.Row, of budgets.State, b budgets.Budget, now time.Time) view.Line {
	m := view.Line{ID: strconv.FormatInt(r.ID, 10), At: ui.Day(r.At), What: ui.Text(lineWords[r.Kind]), Job: r.JobKey, By: r.Agent,
		Model: r.Model,
		Added: signed(r.Added, 1), Taken: signed(r.Taken, -1), Held: signed(r.Held, 1), Left: left(r.Left, of)}
	if zone := budgetZone(b); r.At.In(zone).Year() != now.In(zone).Year() {
		m.At = ui.Date(r.At)
	}
	if r.Epoch > 0 {
		m.Attempt = "attempt " + strconv.FormatInt(r.Epoch, 10)
	}
	if r.Actor != "" {
		m.By = r.Actor
	}
	if r.Kind == budgets.Settled && r.JobID == ids.Nil && r.Runs > 0 {
		m.What = ui.Text(map[bool]string{true: "Run begun", false: "Runs begun"}[r.Runs == 1])
	}
	m.About = aboutLine(r)
	if r.Until != nil {
		m.What = append(m.What, ui.T(" until "), ui.Moment(ui.Date(*r.Until)))
	}
	m.Undoable = (r.Kind == budgets.Raised || r.Kind == budgets.TransferredOut) && r.Reverses == 0 && of.Start.Equal(b.State.Start)
	return m
}

func aboutLine(r budgets.Row) ui.Sentence {
	switch {
	case r.Kind == budgets.Settled && r.JobID != ids.Nil:
		return ui.Text(aboutEntry(r))
	case r.OtherName != "":
		return ui.Say(ui.T(map[bool]string{true: "to ", false: "from "}[r.Kind == budgets.TransferredOut]),
			ui.Link(r.OtherName, links.Budget(r.Other.String())), ui.T(describeReason(r)))
	case r.Reason != "":
		return ui.Text(r.Reason)
	}
	return nil
}

// aboutEntry names the entry of a row. A line that is older than the names of entries may be of
// several.
func aboutEntry(r budgets.Row) string {
	name := r.Entry
	if name == "" {
		name = "several entries"
	}
	switch {
	case r.UnpricedTokens > 0:
		return name + ", " + web.Plural(int(r.UnpricedTokens), "token", "tokens") + " without a price"
	case r.UnpricedTokens < 0:
		return name + ", priced later"
	}
	return name
}

func describeReason(r budgets.Row) string {
	if r.Reason == "" {
		return ""
	}
	return ": " + r.Reason
}

// signed writes what an amount adds (1) or takes (-1), money first.
func signed(a budgets.Amounts, direction int64) (s view.Sum) {
	sign := func(n int64) string {
		if n*direction < 0 {
			return "−"
		}
		return "+"
	}
	if a.Money != 0 {
		s.Money = sign(int64(a.Money)) + max(a.Money, -a.Money).String()
	}
	var more []string
	if a.Tokens != 0 {
		more = append(more, sign(a.Tokens)+web.Plural(int(max(a.Tokens, -a.Tokens)), "token", "tokens"))
	}
	if a.Runs != 0 {
		more = append(more, sign(a.Runs)+web.Plural(int(max(a.Runs, -a.Runs)), "run", "runs"))
	}
	s.More = strings.Join(more, ", ")
	return s
}

// left writes what is left of the limits that a period has.
func left(a budgets.Amounts, of budgets.State) (s view.Sum) {
	if of.Money != nil {
		s.Money = a.Money.String()
	}
	var more []string
	if of.Tokens != nil {
		more = append(more, countLeft(a.Tokens, "token", "tokens"))
	}
	if of.Runs != nil {
		more = append(more, countLeft(a.Runs, "run", "runs"))
	}
	s.More = strings.Join(more, ", ")
	return s
}

func countLeft(n int64, one, many string) string {
	if n < 0 {
		return "−" + web.Plural(int(-n), one, many)
	}
	return web.Plural(int(n), one, many)
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
	return web.SeeOther(c, links.BudgetLedger(b.ID.String(), ""))
}
