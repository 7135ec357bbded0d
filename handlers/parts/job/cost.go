package job

import (
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Cost returns what a job has cost in words, "" where it used nothing. It never shows a sum
// as whole in which something is missing.
func Cost(s spend.Spent) string {
	switch {
	case !s.Known() && s.Unpriced:
		return "unpriced"
	case !s.Known():
		return ""
	case s.Unpriced:
		return s.Cost.String() + " + unpriced"
	}
	return s.Cost.String()
}

// Expected returns what a job is expected to cost, in words.
func Expected(e estimates.Estimate) ui.Sentence {
	text := "; nine of ten such jobs cost at most " + e.P90.String() + ". "
	if e.Source == estimates.History {
		text += "By what " + web.Plural(e.Samples, "finished job", "finished jobs") + " cost."
	} else {
		text += "By a formula, until jobs like it have finished."
	}
	return ui.Say(ui.T("About "), ui.Strong(e.P50.String()), ui.T(text))
}

// Room returns what a budget has left for a job, in words, and whether the job would wait for
// it.
func Room(s budgeting.Standing) (text ui.Sentence, short bool) {
	name := ui.Link(s.Name, links.Budget(s.ID.String()))
	switch {
	case s.Short != nil:
		return ui.Say(ui.T(s.Short.Reason()+". "), ui.Link("Open it", links.Budget(s.ID.String()))), true
	case s.Free == nil:
		return ui.Say(name, ui.T(" has room.")), false
	case *s.Free < 0:
		return ui.Say(name, ui.T(" is overspent by "+spend.Nanos(-int64(*s.Free)).String()+"; it is soft and holds nothing.")), false
	}
	return ui.Say(name, ui.T(" has "+(*s.Free).String()+" free.")), false
}
