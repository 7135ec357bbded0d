package budgets

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	view "github.com/fleetboard/fleetboard/views/budgets"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Which end of a text stands at its place.
const (
	start  = "start"
	middle = "middle"
	finish = "end"
)

// How wide a letter is at most, on average, in the classes c-note and c-lab.
const (
	noteLetter  = 6.2
	labelLetter = 6.6
)

// mark is a text at a place of a chart, which is the left end of its baseline, the middle or the right end.
type mark struct {
	x, y      float64
	text      string
	anchor    string
	perLetter float64
}

// box is a part of a chart; y grows downwards.
type box struct{ left, top, right, bottom float64 }

func (m mark) box() box {
	width := float64(utf8.RuneCountInString(m.text)) * m.perLetter
	left := m.x
	switch m.anchor {
	case middle:
		left -= width / 2
	case finish:
		left -= width
	}
	return box{left, m.y - 10, left + width, m.y + 3}
}

func (m mark) view(path string) view.Mark {
	return view.Mark{Path: path, X: coordinate(m.x), Y: coordinate(m.y), Anchor: m.anchor, Text: m.text}
}

func (b box) overlaps(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

// crosses reports whether a straight line goes through the box.
func (b box) crosses(x1, y1, x2, y2 float64) bool {
	if x1 > x2 {
		x1, y1, x2, y2 = x2, y2, x1, y1
	}
	if x2 < b.left || x1 > b.right {
		return false
	}
	at := func(x float64) float64 { return y1 + (y2-y1)*(x-x1)/(x2-x1) }
	from, to := y1, y2
	if x1 < b.left {
		from = at(b.left)
	}
	if x2 > b.right {
		to = at(b.right)
	}
	return min(from, to) < b.bottom && max(from, to) > b.top
}

// place is where texts go: within an area, beside each other and beside lines.
type place struct {
	area  box
	texts []box
	lines [][4]float64
}

func (p *place) line(x1, y1, x2, y2 float64) { p.lines = append(p.lines, [4]float64{x1, y1, x2, y2}) }

func (p *place) fits(b box) bool {
	within := b.left >= p.area.left && b.right <= p.area.right && b.top >= p.area.top && b.bottom <= p.area.bottom
	return within && !slices.ContainsFunc(p.texts, b.overlaps)
}

func (p *place) clear(b box) bool {
	return !slices.ContainsFunc(p.lines, func(l [4]float64) bool { return b.crosses(l[0], l[1], l[2], l[3]) })
}

// put chooses the first of some marks that fits and is clear of lines. Where none is,
// it is the first that fits if it must be shown at all; else one without a text.
func (p *place) put(must bool, marks ...mark) mark {
	i := slices.IndexFunc(marks, func(m mark) bool { return p.fits(m.box()) && p.clear(m.box()) })
	if i < 0 && must {
		i = slices.IndexFunc(marks, func(m mark) bool { return p.fits(m.box()) })
	}
	if i < 0 {
		none := marks[0]
		none.text = ""
		return none
	}
	p.texts = append(p.texts, marks[i].box())
	return marks[i]
}

// layOut is the plane with its lines.
func (p plane) layOut(s budgets.Series, list []standing) *place {
	room := &place{area: box{p.left, p.top - 8, p.width - 2, p.bottom}}
	for i, one := range list[1:] {
		x1, x2 := p.x(list[i].at), p.x(one.at)
		for _, amount := range []func(standing) float64{free, freeOrReserved} {
			y1, y2 := p.y(amount(list[i])), p.y(amount(one))
			room.line(x1, y1, x2, y1)
			room.line(x2, y1, x2, y2)
		}
	}
	even := p.even(s, list)
	for i := 1; i < len(even); i++ {
		room.line(even[i-1][0], even[i-1][1], even[i][0], even[i][1])
	}
	now := list[len(list)-1]
	x, y := p.x(now.at), p.y(now.free)
	room.line(x, p.top, x, p.bottom)
	for i := range s.Fan {
		x2, y2 := p.x(s.Fan[i].At), p.y(now.free-float64(s.Fan[i].P50))
		room.line(x, y, x2, y2)
		x, y = x2, y2
	}
	return room
}

// mark tells beside the lines what they do not: what is free now, when it is expected to
// be gone, where the budget alerts and how its limit changed.
func (p plane) mark(d *view.Drawing, s budgets.Series, list []standing, zone *time.Location) {
	room := p.layOut(s, list)
	now, percent := list[len(list)-1], chooseAlert(s.Budget.AlertAt)
	alert := p.y(now.limit * float64(100-percent) / 100)
	if now.limit <= 0 {
		percent = 0
	}
	if percent > 0 {
		room.line(p.left, alert, p.right, alert)
	}
	d.NowNote = room.put(true, p.nowNotes(now)...).view("")
	if gone := s.Budget.Projection.ExhaustedP50; gone != nil && now.free > 0 && gone.After(now.at) && !gone.After(p.until) {
		d.RunsOut = p.runsOut(room, *gone, zone)
	}
	if percent > 0 {
		d.Threshold = p.threshold(room, alert, strconv.Itoa(percent)+"% spent")
	}
	d.Changes = p.changes(room, list, zone)
}

// nowNotes say what is free now: beside the line of now, from its top down.
func (p plane) nowNotes(now standing) []mark {
	var marks []mark
	x, text := p.x(now.at), "now, "+ui.Dollars(int64(now.free))+" free"
	for y := p.top + 10; y < p.bottom-4; y += 14 {
		marks = append(marks, mark{x + 7, y, text, start, labelLetter}, mark{x - 7, y, text, finish, labelLetter})
	}
	return marks
}

// runsOut is a line up from the instant at which the money is gone to its day.
func (p plane) runsOut(room *place, gone time.Time, zone *time.Location) *view.Dot {
	x, text := p.x(gone), p.formatTime(gone, zone)
	var marks []mark
	for _, up := range []float64{66, 52, 80, 94, 38, 108} {
		for _, anchor := range []string{middle, finish, start} {
			marks = append(marks, mark{x, p.bottom - up, text, anchor, labelLetter})
		}
	}
	m := room.put(true, marks...)
	room.line(x, m.y, x, p.bottom)
	return &view.Dot{Mark: m.view("M" + move(x, p.bottom-5) + "V" + coordinate(m.y+5)), At: coordinate(x), On: coordinate(p.bottom)}
}

// chooseAlert is the threshold that is drawn, in per cent: the first from 80 on that leaves
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

// threshold is a line across, with its name.
func (p plane) threshold(room *place, y float64, text string) view.Mark {
	var marks []mark
	for _, at := range []float64{y - 5, y + 13} {
		marks = append(marks, mark{p.left + 6, at, text, start, noteLetter}, mark{p.right - 4, at, text, finish, noteLetter})
		for part := 1.0; part < 8; part++ {
			marks = append(marks, mark{p.left + (p.right-p.left)*part/8, at, text, middle, noteLetter})
		}
	}
	return room.put(true, marks...).view("M" + move(p.left, y) + "H" + coordinate(p.right))
}

// changes are ticks where the limit changed. The greatest ones get a text first.
func (p plane) changes(room *place, list []standing, zone *time.Location) []view.Mark {
	changes := listChanges(list)
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(math.Abs(b.by), math.Abs(a.by)) })
	var ticks []view.Mark
	for _, c := range changes {
		x, y := p.x(c.at), p.y(max(c.free+c.reserved, c.free+c.reserved-c.by))
		var marks []mark
		text := c.text(p.formatTime(c.at, zone))
		for _, down := range []float64{-8, -20, -32, -44, -56, 16, 28, 40, 52, 64} {
			marks = append(marks, mark{x + 8, y + down, text, start, noteLetter}, mark{x - 8, y + down, text, finish, noteLetter})
		}
		ticks = append(ticks, room.put(false, marks...).view("M"+move(x, p.bottom)+"v-6"))
	}
	return ticks
}
