// Package usage shows what models were used for, and what that cost.
package usage

import (
	"github.com/fleetboard/fleetboard/views/ui"
)

// Usage is what was used in a period, under filters.
type Usage struct {
	Filters  []ui.ActiveFilter
	Menus    []ui.FilterMenu
	Periods  []ui.Tab
	Empty    *ui.Empty   // nil where anything was used
	Period   ui.Sentence // "24 Oct to 23 Nov"
	Cost     string
	Tokens   string
	Meters   []Meter
	Cached   string // "71% of what was read came from a cache", "" where nothing was read
	Imputed  string // what flat rates saved, "" for nothing
	Unpriced *Unpriced
	Days     *ui.BarChart
	Panels   []Panel
	Entries  Entries
}

// Meter is the tokens of one kind.
type Meter struct{ Name, Text string }

// Unpriced says what has no price, and where one is added.
type Unpriced struct {
	Text   string
	Models []Link
}

// Link is a name that leads somewhere.
type Link struct{ Text, URL string }

// Panel is the groups of one dimension.
type Panel struct {
	ID, Title string
	Count     string
	CSV       string // its groups as CSV
	Rows      []ui.BarRow
	More      string // "and 12 more", "" for none
}

// Entries are the newest entries.
type Entries struct {
	CSV   string
	Focus string
	Rows  []Entry
	Older string // "" at the end
}

// Entry is one usage entry.
type Entry struct {
	At           ui.When
	JobKey       string
	JobURL       string
	Agent, Model string
	Tokens       string
	Cost         string
	Note         string // "told after its lease had ended"
	ID           string
}
