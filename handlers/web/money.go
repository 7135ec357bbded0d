package web

import (
	"encoding/json"
	"fmt"
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
	var said []string
	for _, n := range list {
		if severity(n) == 0 {
			continue
		}
		limits, _ := json.Marshal(n.Limits) // numbers always encode
		said = append(said, fmt.Sprint(n.ID, severity(n), n.Percent >= 100, n.PeriodEnd.Unix(), string(limits)))
		if severity(n) > severity(worst) {
			worst = n
		}
	}
	if len(said) == 0 {
		return nil
	}
	note := moneyNote(worst)
	note.ActionLabel, note.ActionURL = "Open", links.Budget(worst.ID.String())
	note.Key, note.List, note.Others = NoteKey(said...), links.Budgets, len(said)-1
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
		return ui.Note{Tone: ui.Bad, Icon: "octagon-alert", About: ui.AboutUsedUp, Grave: graveUsedUp, Strong: UsedUp(n) + ".",
			Text: ui.Text("Its jobs wait, and running ones are asked to pause.")}
	case n.Threshold >= warnFrom:
		return ui.Note{Tone: ui.Warn, Icon: "triangle-alert", About: ui.AboutBudget,
			Strong: n.Name + " is at " + strconv.Itoa(n.Percent) + "%."}
	}
	return ui.Note{Tone: ui.Warn, Icon: "triangle-alert", About: ui.AboutBudget, Strong: n.Name + " runs out before its period ends:",
		Text: ui.Sentence{ui.T(" probably on "), ui.Moment(ui.DayOnly(*n.RunsOut)), ui.T(".")}}
}

// UsedUp says that a budget has no room for another job: used up is one of which nothing is left.
func UsedUp(n budgets.Notice) string {
	if n.Percent < 100 {
		return n.Name + " has too little left for another job"
	}
	return n.Name + " is used up"
}
