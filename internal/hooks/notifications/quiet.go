package notifications

import (
	"fmt"
	"time"
)

// quiet are hours of the day in a time zone, in minutes after midnight. They go over midnight where
// from is after to; without a zone there are none.
type quiet struct {
	from, to int
	zone     *time.Location
}

const dayMinutes = 24 * 60

// holds reports whether a time is in the hours, by the clock on the wall.
func (q quiet) holds(at time.Time) bool {
	if q.zone == nil {
		return false
	}
	hour, minute, _ := at.In(q.zone).Clock()
	clock := hour*60 + minute
	if q.from < q.to {
		return q.from <= clock && clock < q.to
	}
	return clock >= q.from || clock < q.to
}

// after returns the first time from at on that is not quiet. It goes by the clock on the wall minute
// by minute: where clocks are changed an hour is missing, or comes twice.
func (q quiet) after(at time.Time) time.Time {
	if !q.holds(at) {
		return at
	}
	at = at.Truncate(time.Minute)
	for range 2 * dayMinutes {
		if at = at.Add(time.Minute); !q.holds(at) {
			return at
		}
	}
	return at
}

// parseClock reads a time of day such as 07:30, in minutes after midnight.
func parseClock(text string) (int, bool) {
	at, err := time.Parse("15:04", text)
	return at.Hour()*60 + at.Minute(), err == nil && len(text) == len("15:04")
}

func clockText(minutes int) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }

// due returns when a person is told of what is known now: at once, or with the other news of a digest
// at the end of its time, and never in quiet hours.
func (p person) due(now time.Time) time.Time {
	at := now
	if p.digest > 0 {
		at = now.Truncate(p.digest).Add(p.digest)
	}
	return p.quiet.after(at)
}
