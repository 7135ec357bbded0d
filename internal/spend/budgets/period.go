package budgets

import (
	"fmt"
	"time"
	_ "time/tzdata" // the zones, also where the machine has none
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

// Periods lists them, from the one without an end to the longest.
var Periods = []Period{Once, Day, Week, Month, Quarter}

// Forever is the end of a period that has none.
var Forever = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Bounds returns the start of the period in which an instant lies and the start of the next
// one, by the calendar of the zone. Both follow from the calendar alone and never from
// when somebody looks, so that a late look finds the same period.
func (p Period) Bounds(at time.Time, zone *time.Location) (start, end time.Time, err error) {
	if p == Once {
		return time.Unix(0, 0).UTC(), Forever, nil
	}
	n, err := p.index(at.In(zone))
	if err != nil {
		return time.Time{}, time.Time{}, err
	}
	// Where clocks are set back over midnight, a day's last hour comes again after the
	// next day has begun.
	for start = p.start(n, zone); at.Before(start); start = p.start(n, zone) {
		n--
	}
	for end = p.start(n+1, zone); !at.Before(end); end = p.start(n+1, zone) {
		start, n = end, n+1
	}
	return start, end, nil
}

// index numbers the period in which a local date lies.
func (p Period) index(local time.Time) (int, error) {
	y, m, d := local.Date()
	days := int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60))
	switch p {
	case Day:
		return days, nil
	case Week:
		return (days + 3) / 7, nil // day 0 was a Thursday
	case Month:
		return 12*y + int(m) - 1, nil
	case Quarter:
		return 4*y + (int(m)-1)/3, nil
	case Once:
	}
	return 0, fmt.Errorf("unknown period %q", p)
}

// start returns the first instant of the period with that number.
func (p Period) start(n int, zone *time.Location) time.Time {
	switch p {
	case Day:
		return startOfDay(1970, 1, 1+n, zone)
	case Week:
		return startOfDay(1970, 1, 7*n-2, zone)
	case Month:
		return startOfDay(0, time.Month(n+1), 1, zone)
	case Quarter, Once:
	}
	return startOfDay(0, time.Month(3*n+1), 1, zone)
}

// startOfDay returns the first instant at which the clocks of a zone show midnight of a day or
// later: not every day has a midnight, and some have two.
func startOfDay(y int, m time.Month, d int, zone *time.Location) time.Time {
	midnight := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	// No clock is a whole day away from UTC.
	at := midnight.Add(-24 * time.Hour).In(zone)
	for {
		_, offset := at.Zone()
		_, until := at.ZoneBounds()
		shown := midnight.Add(-time.Duration(offset) * time.Second)
		if shown.Before(at) {
			shown = at
		}
		if !until.IsZero() && !until.After(at) {
			until = at.Add(time.Hour) // time does so on the last day of leap years after 2037
		}
		if until.IsZero() || shown.Before(until) {
			return shown.UTC()
		}
		at = until
	}
}

// loadZone reads the name of a zone, as the time zone database writes it.
func loadZone(name string) (*time.Location, bool) {
	if name == "" || name == "Local" {
		return nil, false
	}
	zone, err := time.LoadLocation(name)
	return zone, err == nil
}
