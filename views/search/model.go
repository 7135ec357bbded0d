// Package search shows what a search of the workspace finds.
package search

import (
	"github.com/fleetboard/fleetboard/views/messageparts"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Search is what was looked for and found.
type Search struct {
	In     string
	Query  string
	Keep   []ui.HiddenField // the filters that are on, beside what the form adds
	Active []ui.ActiveFilter
	Tabs   []ui.Tab
	Groups []Group
	Empty  *ui.Empty
}

// Group are the hits of a kind.
type Group struct {
	ID, Title string
	Hits      []Hit
	More      string // address of all of them, "" where they are here
	Note      string // why there are none
}

// Hit is one of them.
type Hit struct {
	URL     string
	Icon    string // "" with a Status
	Status  ui.Status
	Percent int
	Key     string // of a job
	Title   string
	At      ui.When
	Passage []messageparts.Piece
}
