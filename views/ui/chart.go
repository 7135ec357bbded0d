package ui

import "strconv"

const (
	// chartColumn is the width of a column of a BarChart, chartHeight the height of the whole, in units
	// of a picture that is stretched.
	chartColumn, chartHeight = 20, 1000
	// chartGap is the space at each side of a bar.
	chartGap = 2
)

// BarChart is amounts by day or hour, drawn as a column of bars each and as a table of the same
// numbers.
type BarChart struct {
	ID, Title string
	Label     Sentence // what it shows
	TabsLabel string
	Tabs      []Tab
	// Top, Half and Zero are the marks of its axis.
	Top, Half, Zero string
	Series          []Series
	Head            string   // what a column stands for: "Day"
	Columns         []string // of the table, beside that
	Bars            []ChartBar
	Gaps            bool // of some bars nothing is known
	Fold            bool // the table opens below, else it is beside
}

// Series is a group with its colour.
type Series struct{ Number, Name string }

// ChartBar is one day or hour. One without cells is none in the table.
type ChartBar struct {
	When    When
	Text    string // what it says where the pointer rests: "$3.20"
	Cells   []string
	Parts   []BarPart
	Unknown bool
}

// BarPart is what one series has of a bar.
type BarPart struct{ Number, X, Y, Width, Height string }

// Stack adds a part of a height to the bar in a column, on top of what is there already.
func (b *ChartBar) Stack(column, series int, from, height float64) {
	b.add(series, float64(column*chartColumn+chartGap), from, chartColumn-2*chartGap, height)
}

// Beside adds a part to the bar in a column, the i-th of n that stand beside one another.
func (b *ChartBar) Beside(column, i, n, series int, height float64) {
	width := float64(chartColumn-2*chartGap) / float64(n)
	b.add(series, float64(column*chartColumn+chartGap)+float64(i)*width, 0, width, height)
}

// add adds a part that begins at a height and has one, both in parts of the axis.
func (b *ChartBar) add(series int, x, from, width, height float64) {
	text := func(n float64) string { return strconv.FormatFloat(n, 'f', 1, 64) }
	b.Parts = append(b.Parts, BarPart{Number: strconv.Itoa(series), X: text(x), Y: text(chartHeight * (1 - from - height)),
		Width: text(width), Height: text(chartHeight * height)})
}

func (c BarChart) width() string { return strconv.Itoa(len(c.Bars) * chartColumn) }

func (c BarChart) first() When { return c.Bars[0].When }

func (c BarChart) last() When { return c.Bars[len(c.Bars)-1].When }
