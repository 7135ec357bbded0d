package budgets

import (
	"math"
	"net/url"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/spend/forecast"
	view "github.com/fleetboard/fleetboard/views/budgets"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// advise returns what may be done about a budget of money that is near its end or used up: each is a
// form that has its values already. nil for one that lasts.
func advise(b budgets.Budget, all []budgets.Budget) *view.Advice {
	free, limited := b.State.Free()
	if !limited || !nearEnd(b, free) {
		return nil
	}
	id, more := b.ID.String(), recommended(b, free)
	lacks := spend.Nanos(roundUp(expected(b)-float64(free), 1e7))
	m := &view.Advice{Text: ui.Say(ui.T("At "+b.Projection.BurnPerDay7d.String()+" a day it lacks about "+lacks.String()+" until "),
		ui.Moment(calendarDay(b, outlook(b))), ui.T("."))}
	switch {
	case free < 0:
		m.Text = ui.Text("It is over its limit by " + (-free).String() + ".")
	case expected(b) <= float64(free):
		m.Text = ui.Text("It has " + free.String() + " free.")
	}
	if more > 0 {
		m.Actions = append(m.Actions, view.Link{Text: "Raise to " + (*b.State.Money + more).String(),
			URL: links.RaiseBudgetBy(id, more.USD(), "recommended")})
	}
	if giver, spare := richest(b, all); min(more, spare) > 0 {
		amount := min(more, spare)
		m.Actions = append(m.Actions, view.Link{Text: "Transfer " + amount.String() + " from " + giver.Name,
			URL: links.FilledTransfer(giver.ID.String(), id, amount.USD(), "recommended")})
	}
	switch {
	case !b.Throttle && free > 0:
		m.Actions = append(m.Actions, view.Link{Text: "Slow down: jobs of low priority wait", URL: links.EditBudgetWith(id, "throttle")})
	case !b.Hard:
		m.Actions = append(m.Actions, view.Link{Text: "Stop here: hold new claims", URL: links.EditBudgetWith(id, "hard")})
	}
	return m
}

// nearEnd reports whether the money will not last, or is spent up to the threshold that the chart draws.
func nearEnd(b budgets.Budget, free spend.Nanos) bool {
	v := b.Projection.Verdict
	if free <= 0 || free < b.Slice || v == forecast.RunsOut || v == forecast.Throttle {
		return true
	}
	alert := chooseAlert(b.AlertAt)
	return alert > 0 && float64(b.State.Settled.Money)*100 >= float64(*b.State.Money)*float64(alert)
}

// outlook is until when the money should last: the end of the period, or a week where it has none.
func outlook(b budgets.Budget) time.Time {
	if b.Period == budgets.Once {
		return b.Projection.From.AddDate(0, 0, 7)
	}
	return b.State.End
}

// recommended returns how much more a budget is to have: what it lacks at its rate, a tenth of its
// limit and a slice at least, in whole dollars; 0 where its limit is the largest that there is.
func recommended(b budgets.Budget, free spend.Nanos) spend.Nanos {
	more := max(expected(b)-float64(free), float64(*b.State.Money)/10, float64(b.Slice), 1e9)
	room := budgets.MaxMoney - *b.State.Money
	return min(spend.Nanos(roundUp(more, 1e9)), room)
}

// roundUp rounds an amount of nanos up to two figures, and to a multiple of the least step.
func roundUp(n, least float64) float64 {
	step := max(math.Pow(10, math.Floor(math.Log10(max(n, 1)))-1), least)
	return min(math.Ceil(n/step)*step, float64(budgets.MaxMoney))
}

// expected is what a budget spends at its rate until its outlook.
func expected(b budgets.Budget) float64 {
	days := outlook(b).Sub(b.Projection.From).Hours() / 24
	return float64(b.Projection.BurnPerDay7d) * max(days, 0)
}

// richest returns the budget of the same chain of scopes that has most to spare, and how much that
// is in whole dollars; 0 where none has anything.
func richest(b budgets.Budget, all []budgets.Budget) (giver budgets.Budget, most spend.Nanos) {
	for _, o := range all {
		free, limited := o.State.Free()
		if !limited || o.ID == b.ID || !within(o, b) && !within(b, o) {
			continue
		}
		spare := spend.Nanos(max(float64(free)-expected(o), 0)) / 1e9 * 1e9
		if spare > most {
			giver, most = o, spare
		}
	}
	return giver, most
}

// within reports whether all jobs of one budget count for another too.
func within(b, wide budgets.Budget) bool {
	switch wide.Scope {
	case budgets.Workspace:
		return true
	case budgets.Product:
		return b.ProductID != ids.Nil && b.ProductID == wide.ProductID
	case budgets.Milestone:
		return b.Scope == budgets.Milestone && b.Phase == wide.Phase && (wide.ProductID == ids.Nil || b.ProductID == wide.ProductID)
	case budgets.Job:
	}
	return b.Scope == budgets.Job && b.JobID == wide.JobID
}

// proposed takes over what the address proposes for an edit.
func proposed(in budgets.Input, query url.Values) budgets.Input {
	in.Throttle = in.Throttle || query.Has("throttle")
	in.Hard = in.Hard || query.Has("hard")
	return in
}
