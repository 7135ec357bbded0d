package budgets

import (
	"fmt"
	"time"
)

// Period is how long a budget's limit lasts.
type Period string

// The periods. Weeks begin on Monday.
const (
	Once    Period = "once"
	Day     Period = "day"
	Week    Period = "week"
	Month   Period = "month"
	Quarter Period = "quarter"
)

// Forever is the end of a period that has none.
var Forever = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Bounds are the start of the period in which an instant lies and the start of the next
// one, by the calendar of the zone. Both follow from the calendar alone and never from
// when somebody looks, so that a late look finds the same period.
func (p Period) Bounds(at time.Time, zone *time.Location) (start, end time.Time, err error) {
	y, m, d := at.In(zone).Date()
	day := func(y int, m time.Month, d int) time.Time { return startOfDay(y, m, d, zone) }
	switch p {
	case Once:
		return time.Unix(0, 0).UTC(), Forever, nil
	case Day:
		return day(y, m, d), day(y, m, d+1), nil
	case Week:
		monday := d - (int(at.In(zone).Weekday())+6)%7
		return day(y, m, monday), day(y, m, monday+7), nil
	case Month:
		return day(y, m, 1), day(y, m+1, 1), nil
	case Quarter:
		first := (m-1)/3*3 + 1
		return day(y, first, 1), day(y, first+3, 1), nil
	}
	return time.Time{}, time.Time{}, fmt.Errorf("unknown period %q", p)
}

// startOfDay is the first instant of a day.
func startOfDay(y int, m time.Month, d int, zone *time.Location) time.Time {
	return time.Date(y, m, d, 0, 0, 0, 0, zone)
}
