package forecast

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/spend"
)

// curve is what was spent in all up to each of its points, straight between them. It is
// flat after the last one.
type curve struct {
	points []Hour
	now    time.Time
}

// newCurve strings the sums of periods together: each period begins at 0, and so does what
// falls within one. The first sum was spent from the beginning of its period, or from the
// first entry of all where that is later; where neither is known to be before it, what it
// stands at is history.
func newCurve(in Input) curve {
	c := curve{now: in.Now}
	sorted := slices.Clone(in.Hours)
	slices.SortStableFunc(sorted, func(a, b Hour) int { return a.At.Compare(b.At) })
	for i, h := range sorted {
		if h.At.After(in.Now) {
			break
		}
		h.Settled = max(h.Settled, 0)
		if i == 0 {
			c.begin(h, in.Since)
		} else {
			c.add(h, sorted[i-1])
		}
	}
	return c
}

// begin takes up the first sum.
func (c *curve) begin(h Hour, since *time.Time) {
	if since == nil || since.After(h.At) {
		c.points = append(c.points, Hour{At: h.At})
		return
	}
	from := *since
	if from.Before(h.Period) {
		from = h.Period
	}
	if from.Before(h.At) {
		c.points = append(c.points, Hour{At: from})
	}
	c.points = append(c.points, Hour{At: h.At, Settled: h.Settled})
}

// add takes up a sum and the one before it.
func (c *curve) add(h, before Hour) {
	last := c.points[len(c.points)-1]
	more := h.Settled - max(before.Settled, 0)
	if isNew := !h.Period.Equal(before.Period); isNew || more < 0 {
		more = h.Settled
		if isNew && h.Period.After(last.At) && h.Period.Before(h.At) {
			c.points = append(c.points, Hour{At: h.Period, Settled: last.Settled})
		}
	}
	c.points = append(c.points, Hour{At: h.At, Settled: plus(last.Settled, more)})
}

// plus adds amounts that are not below 0, up to the largest there is.
func plus(a, b spend.Nanos) spend.Nanos {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// span returns how far back the history goes.
func (c curve) span() time.Duration {
	if len(c.points) == 0 {
		return 0
	}
	return c.now.Sub(c.points[0].At)
}

// at returns what was spent in all up to an instant.
func (c curve) at(t time.Time) spend.Nanos {
	i, found := slices.BinarySearchFunc(c.points, t, func(h Hour, t time.Time) int { return h.At.Compare(t) })
	switch {
	case found:
		return c.points[i].Settled
	case i == 0:
		return 0
	case i == len(c.points):
		return c.points[i-1].Settled
	}
	a, b := c.points[i-1], c.points[i]
	return a.Settled + share(b.Settled-a.Settled, t.Sub(a.At), b.At.Sub(a.At))
}

// share is n * part / whole, of numbers that are not below 0, part at most whole.
func share(n spend.Nanos, part, whole time.Duration) spend.Nanos {
	high, low := bits.Mul64(uint64(n), uint64(part))    //nolint:gosec // not below 0
	quotient, _ := bits.Div64(high, low, uint64(whole)) //nolint:gosec // not below 0
	return spend.Nanos(quotient)                        //nolint:gosec // at most n
}

// burn returns what is spent in a day at the rate of the last while, or of the history where
// that is shorter, but of an hour at least.
func (c curve) burn(while time.Duration) spend.Nanos {
	while = min(while, max(c.span(), time.Hour))
	spent := c.at(c.now) - c.at(c.now.Add(-while))
	perDay := float64(spent) * float64(day) / float64(while)
	if perDay >= math.MaxInt64 {
		return math.MaxInt64
	}
	return spend.Nanos(perDay)
}

// block is what was spent in a while, hour by hour, the oldest first.
type block struct {
	hours []spend.Nanos
	sum   spend.Nanos
}

func (b block) length() time.Duration { return time.Duration(len(b.hours)) * time.Hour }

// blocks returns the whiles that futures are made of, and how far those may go.
func (c curve) blocks() ([]block, time.Duration) {
	span := min(c.span(), week)
	switch {
	case span >= minDays*day:
		return c.cut(int(span/day), 24), horizon
	case span >= minSpan:
		return c.cut(int(span/time.Hour), 1), span.Truncate(time.Hour)
	}
	return nil, 0
}

// cut makes n blocks of some hours each, counted back from now.
func (c curve) cut(n, hours int) []block {
	list := make([]block, n)
	for i := range list {
		start := c.now.Add(-time.Duration((i+1)*hours) * time.Hour)
		last := c.at(start)
		for h := range hours {
			next := c.at(start.Add(time.Duration(h+1) * time.Hour))
			list[i].hours = append(list[i].hours, next-last)
			list[i].sum += next - last
			last = next
		}
	}
	return list
}
