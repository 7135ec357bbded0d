// Package pools shows the pools: the template of each, its factories, its demand and what was
// started for it.
package pools

import (
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Page is the pools, one of them at length.
type Page struct {
	List   []Row
	Chosen *Detail // nil where there is none
	New    string  // where one is made, "" for who may not
}

// Row is a pool in the list.
type Row struct {
	ID, Name, URL string
	Text          string // "1 of 4 factories, 2 jobs wait"
	Chosen        bool
	AtMaximum     bool
}

// Detail is a pool at length.
type Detail struct {
	Name    string
	EditURL string // "" for who may not
	Facts   []Fact
	Offers  []string
	Demand  string
	Members []Member
	More    bool // there are more members than are shown
	Charts  []ui.BarChart
	Starts  []Start
}

// Fact is a name and what it is.
type Fact struct{ Name, Text string }

// Member is a factory of the pool.
type Member struct{ Name, URL, Text string }

// Start is a factory that was started.
type Start struct {
	Factory string
	At      ui.When
	Ready   string // how long it took, or what became of it
	Ended   ui.When
	Why     string
	Failed  bool
}

// FormPage is the form of a pool.
type FormPage struct {
	Shell  layout.Shell
	Title  string
	Back   string
	Fixed  string // its name, where it is there already
	Form   ui.Form
	Remove *ui.Action
}
