package settings

import (
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// DivergencePage is how often the factory that got a job was not the best one.
type DivergencePage struct {
	Shell     layout.Shell
	Decisions int
	Classes   []DivergenceClass
	Examples  []DivergenceExample
	Facts     []DivergenceFact
}

// DivergenceClass is a class with how many decisions are of it.
type DivergenceClass struct{ Name, Text, Count, Share string }

// DivergenceExample is a decision in which they differ.
type DivergenceExample struct {
	Key, URL            string
	At                  ui.When
	Pulled, Scored, Why string
}

// DivergenceFact is what a part of a score is computed from.
type DivergenceFact struct{ Name, Text string }
