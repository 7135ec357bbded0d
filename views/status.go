package views

import "fleetboard/views/ui"

// statusPill is the colour of the word that sums the page up.
func statusPill(t ui.Tone) string {
	switch t {
	case ui.OK:
		return "st-completed"
	case ui.Warn:
		return "st-paused"
	case ui.Bad:
		return "st-failed"
	default:
		return "st-waiting"
	}
}
