package budgets

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/spend/forecast"
	view "github.com/fleetboard/fleetboard/views/budgets"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// model returns the page with all budgets and the chosen one at length, else the widest.
func model(list []budgets.Budget, chosen string, mayMake bool) view.Budgets {
	m := view.Budgets{Count: web.Plural(len(list), "budget", "budgets")}
	if mayMake {
		m.NewURL = links.NewBudget
	}
	if len(list) == 0 {
		m.Empty = &ui.Empty{Title: "No budget yet", Text: "A budget says how much a workspace, a product, a phase or a job may spend. " +
			"A hard one holds claims before the money is gone; a soft one only tells."}
		if mayMake {
			m.Empty.ActionLabel, m.Empty.ActionURL = "Make the first budget", links.NewBudget
		}
		return m
	}
	at := indexChosen(list, chosen)
	one := summary(list[at])
	one.Actions = listActions(list[at], mayMake)
	if mayMake {
		one.Advice = advise(list[at], list)
	}
	m.One = &one
	for i, b := range list {
		row := toRow(b)
		row.Current = i == at
		m.Rows = append(m.Rows, row)
	}
	return m
}

// listActions returns the pages about a budget that the reader may open.
func listActions(b budgets.Budget, mayChange bool) []view.Link {
	id := b.ID.String()
	var list []view.Link
	if mayChange && b.State.Money != nil {
		list = append(list, view.Link{Text: "Raise", URL: links.RaiseBudget(id)},
			view.Link{Text: "Transfer", URL: links.TransferFrom(id)})
	}
	if mayChange {
		list = append(list, view.Link{Text: "Edit", URL: links.EditBudget(id)})
	}
	return append(list, view.Link{Text: "Ledger", URL: links.BudgetLedger(id, "")})
}

// indexChosen returns the place of the chosen budget in a list, of the first where none is.
func indexChosen(list []budgets.Budget, chosen string) int {
	return max(slices.IndexFunc(list, func(b budgets.Budget) bool { return b.ID.String() == chosen }), 0)
}

// inOrder puts the workspace's budgets first, then each product's with its phases.
func inOrder(list []budgets.Budget) []budgets.Budget {
	scopes := []budgets.Scope{budgets.Workspace, budgets.Product, budgets.Milestone, budgets.Job}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b budgets.Budget) int {
		last := func(b budgets.Budget) int { // jobs, and phases of all products, follow the products
			switch {
			case b.Scope == budgets.Workspace:
				return 0
			case b.Product != "":
				return 1
			}
			return 2
		}
		return cmp.Or(cmp.Compare(last(a), last(b)), cmp.Compare(a.Product, b.Product),
			cmp.Compare(slices.Index(scopes, a.Scope), slices.Index(scopes, b.Scope)), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// measure is what a budget limits first: money, else tokens, else runs.
type measure struct {
	limit, settled, reserved int64
	limited                  bool
	text                     func(int64) string
}

func toMeasure(s budgets.State) measure {
	switch {
	case s.Money == nil && s.Tokens != nil:
		return measure{*s.Tokens, s.Settled.Tokens, s.Reserved.Tokens, true, counted("token", "tokens")}
	case s.Money == nil && s.Runs != nil:
		return measure{*s.Runs, s.Settled.Runs, s.Reserved.Runs, true, counted("run", "runs")}
	}
	m := measure{settled: int64(s.Settled.Money), reserved: int64(s.Reserved.Money),
		text: func(n int64) string { return spend.Nanos(n).String() }}
	if s.Money != nil {
		m.limit, m.limited = int64(*s.Money), true
	}
	return m
}

func counted(one, many string) func(int64) string {
	return func(n int64) string { return web.Plural(int(n), one, many) }
}

func (m measure) free() int64 { return m.limit - m.settled - m.reserved }

func (m measure) freeText() string {
	if !m.limited {
		return "no limit"
	}
	return m.text(m.free())
}

func (m measure) limitText() string {
	if !m.limited {
		return "no limit"
	}
	return m.text(m.limit)
}

// tone is that of what is free: nothing is bad.
func (m measure) tone() ui.Tone {
	if m.limited && m.free() <= 0 {
		return ui.Bad
	}
	return ""
}

// bar returns what is used, in thousandths of the limit, and of what is used where there is
// no limit or more than it.
func (m measure) bar() view.Bar {
	whole := max(float64(m.limit), float64(m.settled)+float64(m.reserved), 1)
	settled, reserved := thousandths(m.settled, whole), thousandths(m.reserved, whole)
	return view.Bar{Settled: strconv.Itoa(settled), ReservedFrom: strconv.Itoa(settled),
		Reserved: strconv.Itoa(min(reserved, 1000-settled)),
		Label:    "Settled " + m.text(m.settled) + ", reserved " + m.text(m.reserved) + ", free " + m.freeText() + " of " + m.limitText()}
}

func thousandths(part int64, whole float64) int {
	return int(min(max(float64(part)/whole, 0), 1)*1000 + 0.5)
}

func toRow(b budgets.Budget) view.Row {
	m, end := toMeasure(b.State), toEnd(b)
	return view.Row{ID: b.ID.String(), Name: b.Name, About: about(b), URL: links.Budget(b.ID.String()),
		Indented: b.Scope == budgets.Milestone && b.ProductID != ids.Nil, Bar: m.bar(),
		SettledURL:  links.BudgetLedger(b.ID.String(), "settle"),
		ReservedURL: links.BudgetLedger(b.ID.String(), "reserve"), Allocated: m.limitText(),
		Settled: m.text(m.settled), Reserved: m.text(m.reserved), Free: m.freeText(), FreeTone: m.tone(),
		PerDay: b.Projection.BurnPerDay7d.String(), RunsOut: end.text, Tone: end.tone}
}

func summary(b budgets.Budget) view.Summary {
	m, end := toMeasure(b.State), toEnd(b)
	s := view.Summary{Title: b.Name + ", free of " + m.limitText(), Free: m.freeText(), FreeTone: m.tone(), Settled: m.text(m.settled),
		SettledURL: links.BudgetLedger(b.ID.String(), "settle"), ReservedURL: links.BudgetLedger(b.ID.String(), "reserve"),
		Reserved: m.text(m.reserved), Bar: m.bar(), Burn: b.Projection.BurnPerDay7d.String(), BurnOver: burnOver(b),
		BurnNow: b.Projection.BurnPerDay1h.String() + " a day over the last hour",
		RunsOut: end.text, Tone: end.tone, Likely: end.likely, Warning: end.warning, Uses: uses(b.State), Facts: facts(b)}
	if n := b.State.UnpricedTokens; n > 0 {
		s.Unpriced = web.Plural(int(n), "token has", "tokens have") +
			" no known price: they count with what agents said that they cost, if anything."
	}
	return s
}

// burnOver says over which time the burn rate is: a week, or since the first charge.
func burnOver(b budgets.Budget) ui.Sentence {
	since := b.SpentSince
	if since == nil || since.Before(b.Projection.From.AddDate(0, 0, -7)) {
		return ui.Text("over 7 days")
	}
	return ui.Say(ui.T("since "), ui.Moment(ui.Day(*since)))
}

// end is when the money is gone, in words.
type end struct {
	text, likely ui.Sentence
	warning      string
	tone         ui.Tone
}

func toEnd(b budgets.Budget) end {
	m := toMeasure(b.State)
	switch {
	case m.limited && m.free() <= 0 && b.Hard:
		return end{text: ui.Text("now, new claims held"), tone: ui.Bad}
	case m.limited && m.free() <= 0:
		return end{text: ui.Text("now"), tone: ui.Bad}
	case b.State.Money == nil:
		return end{text: ui.Text("not foreseen")}
	}
	p := b.Projection
	day := func(at time.Time) ui.Span { return ui.Moment(calendarDay(b, at)) }
	e := end{text: ui.Text("not in this period")}
	switch p.Verdict {
	case forecast.RunsOut, forecast.Throttle:
		e.text, e.tone = ui.Text("soon"), ui.Warn
		if p.ExhaustedP50 != nil {
			e.text = ui.Say(day(*p.ExhaustedP50))
			if left := b.State.End.Sub(*p.ExhaustedP50); b.Period != budgets.Once && left > 0 {
				e.warning = ui.Duration(left) + " before the period ends"
			}
		}
		if p.ExhaustedP90 != nil {
			e.likely = ui.Say(ui.T("in nine of ten futures by "), day(*p.ExhaustedP90))
		}
	case forecast.Enough:
		if p.ExhaustedP50 != nil && b.Period == budgets.Once {
			e.text = ui.Say(day(*p.ExhaustedP50))
		}
	default:
		e.text = ui.Text("too little data")
	}
	return e
}

func budgetZone(b budgets.Budget) *time.Location {
	if zone, err := time.LoadLocation(b.Timezone); err == nil {
		return zone
	}
	return time.UTC
}

// calendarDay returns the day of an instant by the budget's calendar, in which its periods begin and its
// chart has its days.
func calendarDay(b budgets.Budget, at time.Time) ui.When { return ui.Calendar(at.In(budgetZone(b))) }

// about says beside its name what a budget is for.
func about(b budgets.Budget) string {
	switch b.Scope {
	case budgets.Workspace:
		return "workspace"
	case budgets.Product:
		return b.Product
	case budgets.Job:
		return b.JobKey
	}
	if b.Product == "" {
		return b.Phase + " of all products"
	}
	return b.Product + " " + b.Phase
}

// facts returns the settings of a budget.
func facts(b budgets.Budget) []view.Fact {
	period := ui.Text("does not begin anew")
	if b.Period != budgets.Once {
		period = ui.Say(ui.T("each "+string(b.Period)+" ("+b.Timezone+"), now until "), ui.Moment(ui.Day(b.State.End)))
	}
	full := "Soft: it only tells"
	if b.Hard {
		full = "Hard: it holds claims and pauses jobs"
	}
	list := []view.Fact{{Name: "For", Text: ui.Text(about(b))}, {Name: "Period", Text: period}, {Name: "When used up", Text: ui.Text(full)}}
	if b.ThrottledBelow > 0 {
		list = append(list, view.Fact{Name: "Throttled", Text: ui.Text("Jobs below priority " + strconv.Itoa(b.ThrottledBelow) + " wait")})
	}
	return list
}
