package budgets

import (
	"math"
	"strconv"
	"strings"
	"time"

	"fleetboard/internal/spend/budgets"
	view "fleetboard/views/budgets"
	"fleetboard/views/ui"
)

// plane is the area of a chart in which time goes from left to right and what is left
// of a budget from 0, at the bottom, to the most.
type plane struct {
	width, height            float64
	left, right, top, bottom float64
	from, until              time.Time
	most                     float64
}

// planes are the sizes of a chart: for wide windows and for those below 768 pixels.
func planes(from, until time.Time, most float64) (wide, narrow plane) {
	wide = plane{width: 772, height: 268, left: 64, right: 758, top: 14, bottom: 242, from: from, until: until, most: most}
	narrow = plane{width: 340, height: 220, left: 64, right: 332, top: 14, bottom: 194, from: from, until: until, most: most}
	return wide, narrow
}

func (p plane) x(at time.Time) float64 {
	span := p.until.Sub(p.from)
	if span <= 0 {
		return p.left
	}
	return p.left + (p.right-p.left)*clamp(float64(at.Sub(p.from))/float64(span))
}

func (p plane) y(amount float64) float64 {
	if p.most <= 0 {
		return p.bottom
	}
	return p.bottom - (p.bottom-p.top)*clamp(amount/p.most)
}

func clamp(part float64) float64 {
	if math.IsNaN(part) {
		return 0
	}
	return min(max(part, 0), 1)
}

// coordinate is a number of a path, to a tenth.
func coordinate(n float64) string { return strconv.FormatFloat(math.Round(n*10)/10, 'f', -1, 64) }

func move(x, y float64) string { return coordinate(x) + " " + coordinate(y) }

// standing is what was left at an instant, and what of that was reserved.
type standing struct {
	at             time.Time
	free, reserved float64
	limit          float64
}

// standings are those of a series in dollars' billionths. A point without a limit is left out.
func standings(points []budgets.Point) []standing {
	list := make([]standing, 0, len(points))
	for _, p := range points {
		if p.Limits.Money != nil {
			limit, reserved := float64(*p.Limits.Money), float64(p.Reserved.Money)
			list = append(list, standing{p.At, limit - float64(p.Settled.Money) - reserved, reserved, limit})
		}
	}
	return list
}

// steps is the line of what is left: an amount holds until the next one is told.
func (p plane) steps(list []standing, amount func(standing) float64) string {
	var b strings.Builder
	for i, s := range list {
		x, y := coordinate(p.x(s.at)), coordinate(p.y(amount(s)))
		if i == 0 {
			b.WriteString("M" + x + " " + y)
		} else {
			b.WriteString("H" + x + "V" + y)
		}
	}
	return b.String()
}

// band lies between what is free and what is free or reserved.
func (p plane) band(list []standing) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(p.steps(list, func(s standing) float64 { return s.free + s.reserved }))
	for i := len(list) - 1; i >= 0; i-- {
		b.WriteString("L" + move(p.x(list[i].at), p.y(list[i].free)))
		if i > 0 {
			b.WriteString("L" + move(p.x(list[i].at), p.y(list[i-1].free)))
		}
	}
	return b.String() + "Z"
}

// chart draws what was left of a budget's money since its period began, and how it may
// go on; nil where money has no limit or nothing is told yet.
func chart(s budgets.Series) *view.Chart {
	list := standings(s.Points)
	if len(list) == 0 {
		return nil
	}
	now, zone := list[len(list)-1], zoneOf(s.Budget)
	from, until := list[0].at, s.Budget.State.End
	if s.Budget.Period == budgets.Once {
		until = now.at.Add(max(now.at.Sub(from)/2, 7*24*time.Hour))
	} else {
		from = s.Budget.State.Start
	}
	var most float64
	for _, one := range list {
		most = max(most, one.limit)
	}
	wide, narrow := planes(from, until, most)
	c := &view.Chart{Title: chartSentence(s, list, zone), Wide: wide.draw(s, list, 6, zone), Narrow: narrow.draw(s, list, 3, zone)}
	for _, one := range list {
		c.Table = append(c.Table, view.Point{At: one.at.In(zone).Format("2 Jan 15:04"), Free: ui.Dollars(int64(one.free)),
			Reserved: ui.Dollars(int64(one.reserved)), Limit: ui.Dollars(int64(one.limit))})
	}
	return c
}

// chartSentence says what the chart shows.
func chartSentence(s budgets.Series, list []standing, zone *time.Location) string {
	first, last := list[0], list[len(list)-1]
	text := ui.Dollars(int64(first.free)) + " on " + first.at.In(zone).Format("2 Jan") + ", " + ui.Dollars(int64(last.free)) + " free now. "
	return text + "Runs out: " + endOf(s.Budget).text + "."
}

// draw is the chart in one size, with so many marks on the axis of time.
func (p plane) draw(s budgets.Series, list []standing, marks int, zone *time.Location) view.Drawing {
	now := list[len(list)-1]
	x, y := p.x(now.at), p.y(now.free)
	d := view.Drawing{ViewBox: "0 0 " + move(p.width, p.height), Free: p.steps(list, func(s standing) float64 { return s.free }),
		Reserved: p.band(list), Even: "M" + move(p.x(p.from), p.y(now.limit)) + "L" + move(p.x(p.until), p.y(0)),
		Now: "M" + move(x, p.top) + "V" + coordinate(p.bottom), X: coordinate(x), Y: coordinate(y), AxisX: coordinate(p.left - 8)}
	if s.Budget.Period == budgets.Once {
		d.Even = ""
	}
	for i := range 5 {
		amount := p.most * float64(4-i) / 4
		at := p.y(amount)
		d.Grid = append(d.Grid, view.Mark{Path: "M" + move(p.left, at) + "H" + coordinate(p.right), Y: coordinate(at + 4),
			Text: axisText(amount)})
	}
	for i := range marks {
		at := p.from.Add(time.Duration(float64(p.until.Sub(p.from)) * float64(i) / float64(marks)))
		d.Days = append(d.Days, view.Mark{X: coordinate(p.x(at)), Y: coordinate(p.height - 7), Text: at.In(zone).Format("2 Jan")})
	}
	d.Fan, d.Likely = p.fan(s, now)
	return d
}

// fan is where what is left may go: the area between what half and nine tenths of the
// futures leave, and the line of the half.
func (p plane) fan(s budgets.Series, now standing) (area, line string) {
	if len(s.Fan) == 0 {
		return "", ""
	}
	var out, back strings.Builder
	start := "M" + move(p.x(now.at), p.y(now.free))
	for _, step := range s.Fan {
		out.WriteString("L" + move(p.x(step.At), p.y(now.free-float64(step.P50))))
	}
	for i := len(s.Fan) - 1; i >= 0; i-- {
		back.WriteString("L" + move(p.x(s.Fan[i].At), p.y(now.free-float64(s.Fan[i].P90))))
	}
	return start + out.String() + back.String() + "Z", start + out.String()
}

// axisText is an amount of the axis, without cents where there are none.
func axisText(nanos float64) string {
	return strings.TrimSuffix(ui.Dollars(int64(min(nanos, math.MaxInt64/2))), ".00")
}
