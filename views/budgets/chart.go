package budgets

// Chart is what was left of a budget over time, drawn in three sizes from one table.
type Chart struct {
	Title  string // what it shows, in a sentence
	Broad  Drawing
	Wide   Drawing
	Narrow Drawing
	Table  []Point
}

// Point is a row of the chart's table.
type Point struct{ At, Free, Reserved, Limit string }

// Drawing is a chart in one size: paths and places.
type Drawing struct {
	ViewBox        string
	Free, Reserved string
	Even           string
	Fan, Likely    string
	Now, X, Y      string
	AxisX          string
	Grid, Days     []Mark
	NowNote        Mark
	Threshold      Mark   // a line and its name; without a path where nothing is told
	RunsOut        *Dot   // nil where it is not foreseen in the time that is drawn
	Changes        []Mark // of the limit: a tick each, with a text where there is room
}

// Mark is a line, a word or both. Its text stands at X and Y; Anchor says which end of it.
type Mark struct{ Path, X, Y, Anchor, Text string }

// Dot is a mark with a dot.
type Dot struct {
	Mark

	At, On string // where it is, across and down
}
