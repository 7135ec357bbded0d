package reason

import (
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Misfit is why a factory cannot run the job, before the list of what it lacks;
// asked is the factory that the job names.
func Misfit(f fleet.Fit, asked string) string {
	switch {
	case f.Reason == fleet.ReasonOtherFactory && len(f.Missing) > 0:
		return "is not " + asked + ", and lacks"
	case f.Reason == fleet.ReasonOtherFactory:
		return "is not " + asked
	case f.Reason == fleet.ReasonDraining:
		return "has all it needs, but drains"
	case f.Reason == fleet.ReasonDead:
		return "has all it needs, but is dead"
	case f.Reason == fleet.ReasonEnded:
		return "has all it needs, but has ended"
	case f.Reason == fleet.ReasonUnavailable:
		return "has all it needs, but no engine that works now"
	case f.Factory.Health == fleet.Ended:
		return "has ended, and lacks"
	case !f.Factory.Live():
		return "is dead, and lacks"
	default:
		return "lacks"
	}
}

// LackText is "needs engine:codex", or why the factory that has all cannot.
func LackText(why screens.Reason) ui.Sentence {
	if len(why.Missing) == 0 {
		if why.Nearest == "" {
			return ui.Text("waits for the first factory")
		}
		return ui.Say(ui.T("waits for "), ui.Name(why.Nearest))
	}
	return append(ui.Say(ui.T("needs ")), web.JoinSpans(toChips(why.Missing))...)
}
