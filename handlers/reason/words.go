package reason

import (
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/views/ui"
)

// LackText is "needs engine:codex", or why the factory that has all cannot.
func LackText(why screens.Reason) ui.Sentence {
	if len(why.Missing) == 0 {
		if why.Nearest == "" {
			return ui.Text("waits for the first factory")
		}
		return ui.Say(ui.T("waits for "), ui.Name(why.Nearest))
	}
	return append(ui.Say(ui.T("needs ")), web.AndSpans(toChips(why.Missing))...)
}
