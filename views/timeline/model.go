// Package timeline shows the event log of a workspace.
package timeline

import (
	"github.com/fleetboard/fleetboard/views/events"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Timeline is a part of the event log, the newest event first.
type Timeline struct {
	Groups   []ui.FilterOption // groups of types, those that are shown selected
	Views    []ui.FilterOption // whether progress is shown, and events stand under their jobs
	Keep     []ui.HiddenField  // what is on already, beside what the form adds
	Jobs     []Suggestion      // what the fields suggest
	Actors   []Suggestion
	Active   []ui.ActiveFilter
	ClearURL string
	Older    bool   // it is not the newest part
	NewURL   string // the newest part with the same filter
	Items    events.Items
	Empty    *ui.Empty // set where no event is shown
}

// Suggestion is a value that a field of the filter suggests, and what it is.
type Suggestion struct{ Value, Label string }
