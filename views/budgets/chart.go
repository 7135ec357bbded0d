package budgets

import "github.com/fleetboard/fleetboard/views/ui"

// Chart is what was left of a budget over time, drawn and as a table. Its paths lie in a
// square of 1000 that the browser stretches; marks stand at parts of its width and height.
type Chart struct {
	Title          ui.Sentence // what it shows
	Free, Reserved string
	Even           string
	Fan, Likely    string
	Grid, Days     []Mark
	Now            Mark
	Threshold      Mark   // a line and its name; without a path where nothing is known
	RunsOut        *Mark  // nil where it is not foreseen in the time that is drawn
	Changes        []Mark // of the limit: a tick each, with a text where there is space
	Table          []Point
}

// Point is a row of the chart's table.
type Point struct {
	At                    ui.When
	Free, Reserved, Limit string
}

// Mark is a line, a word or both. Its text, after a time where there is one, stands at X and Y; Anchor
// says which end of it.
type Mark struct {
	Path, X, Y, Anchor string
	When               ui.When
	Text               string
	Wide               bool // its text is hidden where the page is narrow
}

// Says returns the whole text.
func (m Mark) Says() string { return m.When.Text + m.Text }

// beside returns how far a text stands beside its place, in pixels.
func (m Mark) beside() string {
	return map[string]string{"start": "7", "end": "-7"}[m.Anchor]
}

// class returns the class of a text.
func (m Mark) class(name string) string {
	if m.Wide {
		return name + " c-wide"
	}
	return name
}
