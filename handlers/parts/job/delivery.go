package job

import (
	"time"

	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	view "github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Delivery returns what became of the commit of an attempt, nothing where nobody reported it.
func Delivery(a attempts.Attempt, now time.Time) view.Delivery {
	d := a.Delivery
	m := view.Delivery{Branch: d.Branch, Commit: ShortCommit(d.Commit), Detail: d.Detail}
	if d.At != nil {
		m.At = ui.Ago(*d.At, now)
	}
	switch d.State {
	case attempts.Awaited:
		m.Word, m.Icon = "Not pushed yet", "hourglass"
		m.Text = ui.Say(ui.Name(a.Factory), ui.T(" has yet to say that the commit is at the origin. A merge waits for that"))
	case attempts.Local:
		m.Word, m.Icon = "In the clone of its host", "server"
	case attempts.Pushed:
		m.Word, m.Icon = "Pushed", "circle-check"
	case attempts.Refused:
		m.Word, m.Icon, m.Tone = "Refused by the origin", "octagon-alert", ui.Bad
		m.Text = ui.Say(ui.T("The origin refused the branch, which is kept on "), ui.Name(a.Factory),
			ui.T(" and pushed again now and then. A merge waits for that"))
	default:
		return view.Delivery{}
	}
	return m
}
