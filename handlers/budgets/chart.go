package budgets

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	view "github.com/fleetboard/fleetboard/views/budgets"
	"github.com/fleetboard/fleetboard/views/ui"
)

// plane is the area of a chart, a square of scale in which time goes from left to right and
// what is left of a budget from 0, at the bottom, to the most. The browser stretches it to
// the space that the page has; texts keep their size and stand at parts of the area.
type plane struct {
	from, until time.Time
	most        float64
	step        float64 // between the lines of the grid
}

const (
	scale = 1000
	// axisDays is how many marks the axis of time has at most; where the page is narrow
	// every other one is hidden.
	axisDays = 7
	// leastWide is how wide the area is at least, in pixels, where the page is not narrow.
	leastWide = 480
)

func newPlane(from, until time.Time, most float64) plane {
	step := stepFor(most)
	return plane{from: from, until: until, most: max(math.Ceil(most/step), 1) * step, step: step}
}

// stepFor returns the least round amount, of a cent or more, of which five reach the most.
func stepFor(most float64) float64 {
	for unit := 1e7; ; unit *= 10 {
		for _, times := range []float64{1, 2, 2.5, 5} {
			if step := unit * times; step*5 >= most && step == math.Floor(step/1e7)*1e7 {
				return step
			}
		}
	}
}

// x and y are where an instant and an amount are in the square.
func (p plane) x(at time.Time) float64 {
	span := p.until.Sub(p.from)
	if span <= 0 {
		return 0
	}
	return scale * clamp(float64(at.Sub(p.from))/float64(span))
}

func (p plane) y(amount float64) float64 { return scale - scale*clamp(amount/p.most) }

func clamp(part float64) float64 {
	if math.IsNaN(part) {
		return 0
	}
	return min(max(part, 0), 1)
}

// coordinate returns a number of a path, to a tenth.
func coordinate(n float64) string { return strconv.FormatFloat(math.Round(n*10)/10, 'f', -1, 64) }

// percent returns a place of the square as a part of the area.
func percent(n float64) string { return coordinate(n*100/scale) + "%" }

func move(x, y float64) string { return coordinate(x) + " " + coordinate(y) }

// standing is what was left at an instant, and what of that was reserved.
type standing struct {
	at             time.Time
	free, reserved float64
	limit          float64
}

// standings returns those of a series in dollars' billionths. A point without a limit is left out.
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

// steps returns the line of what is left: an amount holds until the next known one.
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

func free(s standing) float64 { return s.free }

func freeOrReserved(s standing) float64 { return s.free + s.reserved }

// band lies between what is free and what is free or reserved.
func (p plane) band(list []standing) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(p.steps(list, freeOrReserved))
	for i := len(list) - 1; i >= 0; i-- {
		b.WriteString("L" + move(p.x(list[i].at), p.y(list[i].free)))
		if i > 0 {
			b.WriteString("L" + move(p.x(list[i].at), p.y(list[i-1].free)))
		}
	}
	return b.String() + "Z"
}

// even returns the corners of the line of who spends the same each day, under each limit that
// there was. A budget without periods has none.
func (p plane) even(s budgets.Series, list []standing) [][2]float64 {
	span := float64(p.until.Sub(p.from))
	if span <= 0 || s.Budget.Period == budgets.Once {
		return nil
	}
	corners := [][2]float64{{0, p.y(list[0].limit)}}
	for _, c := range listChanges(list) {
		left := float64(p.until.Sub(c.at)) / span
		corners = append(corners, [2]float64{p.x(c.at), p.y((c.limit - c.by) * left)}, [2]float64{p.x(c.at), p.y(c.limit * left)})
	}
	return append(corners, [2]float64{scale, scale})
}

// through returns a line through points.
func through(points [][2]float64) string {
	var b strings.Builder
	for i, at := range points {
		b.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + move(at[0], at[1]))
	}
	return b.String()
}

// change is how the limit became another.
type change struct {
	standing

	by float64
}

// text follows the day on which it was made.
func (c change) text() string {
	amount := spend.Nanos(c.by).String()
	if c.by > 0 {
		amount = "+" + amount
	}
	return ", " + amount
}

func listChanges(list []standing) []change {
	var changes []change
	for i := 1; i < len(list); i++ {
		if by := list[i].limit - list[i-1].limit; by != 0 {
			changes = append(changes, change{list[i], by})
		}
	}
	return changes
}

// chart draws what was left of a budget's money since its period began, and how it may
// go on; nil where money has no limit or nothing is known yet.
func chart(s budgets.Series) *view.Chart {
	list := standings(s.Points)
	if len(list) == 0 {
		return nil
	}
	now, zone := list[len(list)-1], budgetZone(s.Budget)
	from, until := list[0].at, s.Budget.State.End
	if s.Budget.Period == budgets.Once {
		until = now.at.Add(ahead(now.at, now.at.Sub(from), s.Budget.Projection.ExhaustedP50))
	} else {
		from = s.Budget.State.Start
	}
	var most float64
	for _, one := range list {
		most = max(most, one.limit)
	}
	plane := newPlane(from, until, most)
	c := plane.draw(s, list, zone)
	c.Title = chartSentence(s, list)
	for _, one := range list {
		c.Table = append(c.Table, view.Point{At: ui.Day(one.at), Free: spend.Nanos(one.free).String(),
			Reserved: spend.Nanos(one.reserved).String(), Limit: spend.Nanos(one.limit).String()})
	}
	return c
}

// ahead returns how much of the time to come is drawn of a budget without periods after such
// a past: a week or an eighth of the past, and up to half of it to show when money is gone.
func ahead(now time.Time, past time.Duration, gone *time.Time) time.Duration {
	least := max(7*24*time.Hour, past/8)
	if gone == nil {
		return least
	}
	left := gone.Sub(now)
	if left += left / 10; left > max(least, past/2) {
		return least
	}
	return max(least, left)
}

// chartSentence says what the chart shows.
func chartSentence(s budgets.Series, list []standing) ui.Sentence {
	first, last := list[0], list[len(list)-1]
	text := ui.Say(ui.T(spend.Nanos(first.free).String()+" on "), ui.Moment(calendarDay(s.Budget, first.at)), ui.T(", "))
	changes := listChanges(list)
	if most := 3; len(changes) > most {
		text = append(text, ui.T("limit changed "+strconv.Itoa(len(changes))+" times, "))
		changes = nil
	}
	for _, c := range changes {
		text = append(text, ui.T("limit "+spend.Nanos(c.limit).String()+" from "), ui.Moment(calendarDay(s.Budget, c.at)), ui.T(" on, "))
	}
	text = append(text, ui.T(spend.Nanos(last.free).String()+" free now. Runs out: "))
	return append(append(text, toEnd(s.Budget).text...), ui.T("."))
}

// draw returns the chart without its table.
func (p plane) draw(s budgets.Series, list []standing, zone *time.Location) *view.Chart {
	now := list[len(list)-1]
	c := &view.Chart{Free: p.steps(list, free), Reserved: p.band(list), Even: through(p.even(s, list)), Days: p.daysAt(zone),
		Changes: p.changes(list, zone)}
	for amount := p.most; amount > -p.step/2; amount -= p.step {
		at := p.y(amount)
		c.Grid = append(c.Grid, view.Mark{Path: "M0 " + coordinate(at) + "H1000", Y: percent(at), Text: p.axisText(amount)})
	}
	c.Fan, c.Likely = p.fan(s, now)
	x := p.x(now.at)
	c.Now = view.Mark{X: percent(x), Y: percent(p.y(now.free)), Anchor: side(x), Text: "now, " + spend.Nanos(now.free).String() + " free"}
	if gone := s.Budget.Projection.ExhaustedP50; gone != nil && now.free > 0 && gone.After(now.at) && !gone.After(p.until) {
		x := p.x(*gone)
		c.RunsOut = &view.Mark{X: percent(x), Anchor: side(x), When: p.writeTime(*gone, zone)}
	}
	if alert := chooseAlert(s.Budget.AlertAt); alert > 0 && now.limit > 0 {
		y := p.y(now.limit * float64(100-alert) / 100)
		c.Threshold = view.Mark{Path: "M0 " + coordinate(y) + "H1000", Text: strconv.Itoa(alert) + "% spent"}
	}
	return c
}

// side returns which end of a text stands at a place: it goes to where more space is.
func side(x float64) string {
	if x > scale/2 {
		return "end"
	}
	return "start"
}

// chooseAlert returns the threshold that is drawn, in per cent: the first from 80 on that leaves
// something, else the last below; 0 for none.
func chooseAlert(percents []int) int {
	drawn := 0
	for _, percent := range slices.Sorted(slices.Values(percents)) {
		if drawn < 80 && percent < 100 {
			drawn = percent
		}
	}
	return drawn
}

// changes are ticks where the limit changed. All texts stand in one row, the greatest change
// first: where the page is narrow it is the only one, else those that lie on none before.
func (p plane) changes(list []standing, zone *time.Location) []view.Mark {
	changes := listChanges(list)
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(math.Abs(b.by), math.Abs(a.by)) })
	var ticks []view.Mark
	var taken [][2]float64
	for i, c := range changes {
		x := p.x(c.at)
		m := view.Mark{X: percent(x), Anchor: side(x), When: p.writeTime(c.at, zone), Text: c.text(), Wide: i > 0}
		left := x * leastWide / scale
		right := left + textWidth(m.Says())
		if m.Anchor == "end" {
			left, right = left-textWidth(m.Says()), left
		}
		if slices.ContainsFunc(taken, func(o [2]float64) bool { return left < o[1] && o[0] < right }) {
			m.When, m.Text = ui.When{}, ""
		} else {
			taken = append(taken, [2]float64{left, right})
		}
		ticks = append(ticks, m)
	}
	return ticks
}

// textWidth returns how many pixels a text of the class c-note and the gap beside it take at most.
func textWidth(text string) float64 { return float64(utf8.RuneCountInString(text))*6.2 + 8 }

// axisText returns an amount of the axis, without cents where no line of the grid has any.
func (p plane) axisText(nanos float64) string {
	text := spend.Nanos(min(nanos, math.MaxInt64/2)).String()
	if math.Mod(p.step, 1e9) == 0 {
		text = strings.TrimSuffix(text, ".00")
	}
	return text
}

// daysAt returns the marks on the axis of time: days of the zone, or hours in a short time.
func (p plane) daysAt(zone *time.Location) []view.Mark {
	span := p.until.Sub(p.from)
	step := 1
	next := func(i int) time.Time { return p.from.In(zone).AddDate(0, 0, i*step) }
	if p.short() {
		next = func(i int) time.Time { return p.from.In(zone).Add(time.Duration(i*step) * time.Hour) }
		step = roundStep(span.Hours()/axisDays, 1, 2, 3, 4, 6, 12)
	} else {
		step = roundStep(span.Hours()/24/axisDays, 1, 2, 3, 5, 7, 10, 14)
	}
	var marks []view.Mark
	for i := range axisDays + 1 {
		at := next(i)
		m := view.Mark{X: percent(p.x(at)), Anchor: "middle", When: p.writeTime(at, zone), Wide: i%2 == 1}
		if i == 0 {
			m.Anchor = "start"
		} else if !at.Before(p.until) || p.x(at) > lastDay {
			break
		}
		marks = append(marks, m)
	}
	return marks
}

// lastDay is how far to the right the middle of a day of the axis may be.
const lastDay = 960

// short reports whether the plane shows so little time that hours say more than days.
func (p plane) short() bool { return p.until.Sub(p.from) <= 2*24*time.Hour }

// writeTime writes an instant: its day by the budget's calendar, or its time where hours say more.
func (p plane) writeTime(at time.Time, zone *time.Location) ui.When {
	if p.short() {
		return ui.TimeOnly(at)
	}
	return ui.Calendar(at.In(zone))
}

// roundStep returns the first of some round numbers that is no less than n, else n rounded up.
func roundStep(n float64, round ...int) int {
	for _, step := range round {
		if float64(step) >= n {
			return step
		}
	}
	return int(math.Ceil(n))
}

// future is what is left at an instant to come; below zero where more is spent.
type future struct {
	at   time.Time
	left float64
}

// futures returns what is left now and after each step of a fan, up to the end of the plane.
func (p plane) futures(s budgets.Series, now standing, spent func(i int) spend.Nanos) []future {
	list := []future{{now.at, now.free}}
	for i, step := range s.Fan {
		last, next := list[len(list)-1], future{step.At, now.free - float64(spent(i))}
		if !last.at.Before(p.until) {
			break
		}
		if next.at.After(p.until) {
			next = between(last, next, float64(p.until.Sub(last.at))/float64(next.at.Sub(last.at)))
		}
		if last.left > 0 && next.left < 0 {
			list = append(list, between(last, next, last.left/(last.left-next.left)))
		}
		list = append(list, next)
	}
	return list[1:]
}

func between(a, b future, part float64) future {
	return future{a.at.Add(time.Duration(float64(b.at.Sub(a.at)) * part)), a.left + (b.left-a.left)*part}
}

// fan is where what is left may go: the area between what half and nine tenths of the
// futures leave, and the line of the half down to nothing.
func (p plane) fan(s budgets.Series, now standing) (area, line string) {
	if len(s.Fan) == 0 {
		return "", ""
	}
	half := p.futures(s, now, func(i int) spend.Nanos { return s.Fan[i].P50 })
	most := p.futures(s, now, func(i int) spend.Nanos { return s.Fan[i].P90 })
	area = "M" + move(p.x(now.at), p.y(now.free))
	line = area
	over := now.free <= 0
	for _, f := range half {
		next := "L" + move(p.x(f.at), p.y(f.left))
		area += next
		if !over {
			line += next
		}
		over = over || f.left < 1
	}
	for i := len(most) - 1; i >= 0; i-- {
		area += "L" + move(p.x(most[i].at), p.y(most[i].left))
	}
	return area + "Z", line
}
