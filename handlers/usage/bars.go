package usage

import (
	"math"
	"strconv"
	"time"

	usageparts "github.com/fleetboard/fleetboard/handlers/parts/usage"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
	view "github.com/fleetboard/fleetboard/views/usage"
)

const (
	// maxParts is how many groups have a colour of their own; what is left is one more.
	maxParts = 5
	// barWidth and barHeight are the units of the picture, which is stretched.
	barWidth, barHeight = 20, 1000
)

// part is what one group spent, by day or hour.
type part struct {
	name  string
	spent map[string]spend.Nanos
}

// bars returns the bars of days or hours, from the first to the last, those without usage too.
func (s sheet) bars() *view.Bars {
	step, title, layout, key := 24*time.Hour, "By day", "2 Jan", "2006-01-02"
	if s.step() == usage.Hour {
		step, title, layout, key = time.Hour, "By hour", "2 Jan 15:04", "2006-01-02T15:04:05Z"
	}
	sums, most, dearest := map[string]usage.Sum{}, spend.Nanos(0), ""
	for _, g := range s.report.By[s.step()].Sums {
		sums[g.Group], most = g, max(most, g.Charged)
	}
	top := axisTop(most)
	m := &view.Bars{Title: title, Stacks: s.stacks(), Top: spend.Nanos(top).String(), Half: spend.Nanos(top / 2).String()}
	for i, p := range s.parts {
		m.Series = append(m.Series, view.Series{Number: strconv.Itoa(i + 1), Name: p.name})
	}
	left := false // something that belongs to none of the parts
	for at := s.report.From; at.Before(s.report.Until); at = at.Add(step) {
		sum, used := sums[at.Format(key)]
		bar := view.Bar{When: at.Format(layout), Cost: "nothing"}
		if used {
			bar.Cost = usageparts.Cost(sum.Usage)
		}
		if used && sum.Charged == most {
			dearest = bar.When + ", " + bar.Cost
		}
		rest, y := sum.Charged, float64(barHeight)
		add := func(number int, n spend.Nanos) {
			height := barHeight * float64(n) / float64(top)
			y -= height
			bar.Parts = append(bar.Parts, view.BarPart{Number: strconv.Itoa(number), X: strconv.Itoa(len(m.Bars)*barWidth + 2),
				Y: coordinate(y), Height: coordinate(height)})
		}
		for i, p := range s.parts {
			n := p.spent[at.Format(key)]
			bar.Costs = append(bar.Costs, n.String())
			if rest -= n; n > 0 {
				add(i+1, n)
			}
		}
		bar.Costs = append(bar.Costs, max(rest, 0).String())
		if rest > 0 {
			left = true
			add(maxParts+1, rest)
		}
		m.Bars = append(m.Bars, bar)
	}
	if left {
		m.Series = append(m.Series, view.Series{Number: strconv.Itoa(maxParts + 1), Name: "others"})
	}
	m.First, m.Last = m.Bars[0].When, m.Bars[len(m.Bars)-1].When
	m.Width = strconv.Itoa(len(m.Bars) * barWidth)
	m.Label = "The dearest: " + dearest
	return m
}

func coordinate(n float64) string { return strconv.FormatFloat(n, 'f', 1, 64) }

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
