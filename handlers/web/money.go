package web

import (
	"strconv"

	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// warnFrom is the percentage of a budget from which on every page warns of it.
const warnFrom = 80

// MoneyNote returns the bar that every page shows about the most severe of the notices; nil where
// none is severe.
func MoneyNote(list []budgets.Notice) *ui.Note {
	var worst budgets.Notice
	more := 0
	for _, n := range list {
		if severity(n) == 0 {
			continue
		}
		more++
		if severity(n) > severity(worst) {
			worst = n
		}
	}
	if more == 0 {
		return nil
	}
	note := moneyNote(worst)
	note.ActionLabel = "Open"
	note.ActionURL = links.Budget(worst.ID.String())
	if more > 1 {
		note.Text = append(note.Text, ui.T(" "+Plural(more-1, "other budget", "other budgets")+" besides."))
	}
	return &note
}

// severity orders notices: used up is the highest, then nearly used up, then a forecast; 0 is not
// shown.
func severity(n budgets.Notice) int {
	switch {
	case n.UsedUp:
		return 1000
	case n.Threshold >= warnFrom:
		return n.Threshold
	case n.RunsOut != nil:
		return 1
	}
	return 0
}

func moneyNote(n budgets.Notice) ui.Note {
	switch {
	case n.UsedUp:
		return ui.Note{Tone: ui.Bad, Icon: "octagon-alert", Strong: n.Name + " is used up.",
			Text: ui.Text("Its jobs wait, and running ones are asked to pause.")}
	case n.Threshold >= warnFrom:
		return ui.Note{Tone: ui.Warn, Icon: "triangle-alert", Strong: n.Name + " is at " + strconv.Itoa(n.Percent) + "%."}
	}
	return ui.Note{Tone: ui.Warn, Icon: "triangle-alert", Strong: n.Name + " runs out before its period ends:",
		Text: ui.Text(" probably on " + n.RunsOut.UTC().Format("2 Jan") + ".")}
}
