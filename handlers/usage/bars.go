package usage

import (
	"math"
	"strconv"
	"time"

	usageparts "github.com/fleetboard/fleetboard/handlers/parts/usage"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
	"github.com/fleetboard/fleetboard/views/ui"
)

// maxParts is how many groups have a colour of their own; what is left is one more.
const maxParts = 5

// part is what one group spent, by day or hour.
type part struct {
	name  string
	spent map[string]spend.Nanos
}

// bars returns the bars of days or hours, from the first to the last, those without usage too.
func (s sheet) bars() *ui.BarChart {
	step, title, head, key, write := 24*time.Hour, "By day", "Day of UTC", time.DateOnly, ui.Calendar
	if s.step() == usage.Hour {
		step, title, head, key, write = time.Hour, "By hour", "Hour from", time.RFC3339, ui.Day
	}
	sums, most := map[string]usage.Sum{}, spend.Nanos(0)
	for _, g := range s.report.By[s.step()].Sums {
		sums[g.Group], most = g, max(most, g.Charged)
	}
	top := axisTop(most)
	m := &ui.BarChart{ID: "days", Title: title, TabsLabel: "Divided", Tabs: s.stacks(), Head: head,
		Top: spend.Nanos(top).String(), Half: spend.Nanos(top / 2).String(), Zero: "$0"}
	for i, p := range s.parts {
		m.Series = append(m.Series, ui.Series{Number: strconv.Itoa(i + 1), Name: p.name})
	}
	left := false // something that belongs to none of the parts
	for at := s.report.From; at.Before(s.report.Until); at = at.Add(step) {
		sum, used := sums[at.Format(key)]
		bar := ui.ChartBar{When: write(at)}
		if used {
			bar.Text = usageparts.Cost(sum.Usage)
		}
		if used && sum.Charged == most {
			m.Label = ui.Say(ui.T("The dearest: "), ui.Moment(bar.When), ui.T(", "+bar.Text))
		}
		rest := sum.Charged
		part := func(n spend.Nanos) float64 { return float64(n) / float64(top) }
		for i, p := range s.parts {
			n := p.spent[at.Format(key)]
			bar.Cells = append(bar.Cells, n.String())
			if n > 0 {
				bar.Stack(len(m.Bars), i+1, part(sum.Charged-rest), part(n))
			}
			rest -= n
		}
		bar.Cells = append(bar.Cells, max(rest, 0).String())
		if rest > 0 {
			left = true
			bar.Stack(len(m.Bars), maxParts+1, part(sum.Charged-rest), part(rest))
		}
		if !used {
			bar.Cells = nil
		}
		m.Bars = append(m.Bars, bar)
	}
	if left {
		m.Series = append(m.Series, ui.Series{Number: strconv.Itoa(maxParts + 1), Name: "others"})
	}
	for _, series := range m.Series {
		m.Columns = append(m.Columns, series.Name)
	}
	m.Columns = append(m.Columns, "Cost")
	for i, bar := range m.Bars {
		if bar.Cells != nil {
			m.Bars[i].Cells = append(bar.Cells[:len(m.Series):len(m.Series)], bar.Text)
		}
	}
	return m
}

// axisTop returns the top of an axis for amounts up to most: 1, 2 or 5 times a power of ten.
func axisTop(most spend.Nanos) int64 {
	if most <= 0 {
		return 1_000_000_000
	}
	power := math.Pow(10, math.Floor(math.Log10(float64(most))))
	for _, times := range []float64{1, 2, 5, 10} {
		if times*power >= float64(most) {
			return int64(times * power)
		}
	}
	return int64(most)
}
