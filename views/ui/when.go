package ui

import (
	"fmt"
	"strconv"
	"time"

	"github.com/a-h/templ"
)

// Rel is how a When is written, and how static/js/time.js keeps it fresh.
type Rel string

// The ways to write a time.
const (
	RelAgo   Rel = "ago"   // "40s ago"
	RelFor   Rel = "for"   // "40s", since a past time
	RelIn    Rel = "in"    // "in 4m", to a future time; "now" when it is past
	RelLeft  Rel = "left"  // "14m 56s", a clock that runs down; "0s" at the end
	RelRun   Rel = "run"   // "12m 40s", a clock that runs up
	RelClock Rel = "clock" // "12:46:00 UTC"; the page's script says these
	RelDay   Rel = "day"   // "21 Nov 10:58 UTC"; as the reader does, in his zone
	RelOnly  Rel = "only"  // "21 Nov", with the year where it is not this one
	RelDate  Rel = "date"  // "21 Nov 2025 10:58 UTC"
	RelUntil Rel = "until" // "18:00 UTC", with the day where that is not today
	RelTime  Rel = "time"  // "18:00 UTC"

	// Days and months of a calendar, that of UTC or of a budget's zone: they are the same for every
	// reader, in his language.
	RelCalendar     Rel = "calendar"      // "21 Nov", with the year where it is not this one
	RelCalendarDate Rel = "calendar-date" // "21 Nov 2025"
	RelMonth        Rel = "month"         // "Nov 2025"
)

// When is a moment with the text it is shown as. The zero value shows nothing.
type When struct {
	At   time.Time
	Text string
	Rel  Rel
}

// MarshalText leaves out what the browser keeps fresh by itself, for digests of what is shown.
func (w When) MarshalText() ([]byte, error) { return []byte(w.ISO() + string(w.Rel)), nil }

// IsZero says that there is nothing to show.
func (w When) IsZero() bool { return w.At.IsZero() }

// Ago writes a past moment: "40s ago". A zero time gives a zero When.
func Ago(at, now time.Time) When { return when(at, RelAgo, Duration(now.Sub(at))+" ago") }

// For writes the time since a past moment: "3h 12m".
func For(at, now time.Time) When { return when(at, RelFor, Duration(now.Sub(at))) }

// In writes the time to a future moment: "in 5h 13m", or "now".
func In(at, now time.Time) When {
	if !at.After(now) {
		return when(at, RelIn, "now")
	}
	return when(at, RelIn, "in "+Duration(at.Sub(now)))
}

// Left writes a clock that runs down to a moment: "14m 56s".
func Left(at, now time.Time) When { return when(at, RelLeft, Clock(at.Sub(now))) }

// Run writes a clock that runs up from a moment: "12m 40s".
func Run(at, now time.Time) When { return when(at, RelRun, Clock(now.Sub(at))) }

// At writes the time of day: "12:46:00 UTC". The page turns it into the reader's
// zone and locale.
func At(at time.Time) When { return when(at, RelClock, at.UTC().Format("15:04:05 UTC")) }

// Day writes the day and the time: "21 Nov 10:58 UTC".
func Day(at time.Time) When { return when(at, RelDay, at.UTC().Format("2 Jan 15:04 UTC")) }

// DayOnly writes the day alone: "21 Nov".
func DayOnly(at time.Time) When { return when(at, RelOnly, at.UTC().Format("2 Jan")) }

// Date writes the day with its year, and the time: "21 Nov 2025 10:58 UTC".
func Date(at time.Time) When { return when(at, RelDate, at.UTC().Format("2 Jan 2006 15:04 UTC")) }

// TimeOnly writes the hour and minute alone, where the day is plain: "18:00 UTC".
func TimeOnly(at time.Time) When { return when(at, RelTime, at.UTC().Format("15:04 UTC")) }

// Calendar writes a day of a calendar, of the location of at: "21 Nov". It is no moment: a reader in
// another zone reads the same day.
func Calendar(at time.Time) When {
	day := calendarDay(at)
	return when(day, RelCalendar, day.Format("2 Jan"))
}

// CalendarDate writes a day of a calendar with its year: "21 Nov 2025".
func CalendarDate(at time.Time) When {
	day := calendarDay(at)
	return when(day, RelCalendarDate, day.Format(calendarDate))
}

// Month writes a month of a calendar: "Nov 2025".
func Month(at time.Time) When {
	day := calendarDay(at)
	return when(day, RelMonth, day.Format("Jan 2006"))
}

const calendarDate = "2 Jan 2006"

// calendarDay returns the beginning in UTC of the day that at is in where it is.
func calendarDay(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	year, month, day := at.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// isDay reports whether it is no moment but a day or a month of a calendar.
func (w When) isDay() bool {
	return w.Rel == RelCalendar || w.Rel == RelCalendarDate || w.Rel == RelMonth
}

// DayHeading names a day of UTC at length, for a list of what happened; static/js/timeline.js says the
// same of the reader's days.
func DayHeading(at, now time.Time) string {
	at, now = at.UTC(), now.UTC()
	switch calendarDay(now).Sub(calendarDay(at)) {
	case 0:
		return "Today"
	case 24 * time.Hour:
		return "Yesterday"
	}
	if at.Year() != now.Year() {
		return at.Format("Monday 2 January 2006")
	}
	return at.Format("Monday 2 January")
}

// Until names a moment within a sentence: "18:00 UTC", with the day where it is
// not that of now.
func Until(at, now time.Time) When {
	at, now = at.UTC(), now.UTC()
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return when(at, RelUntil, at.Format("15:04 UTC"))
	}
	if at.Year() != now.Year() {
		return when(at, RelUntil, Date(at).Text)
	}
	return when(at, RelUntil, Day(at).Text)
}

func when(at time.Time, rel Rel, text string) When {
	if at.IsZero() {
		return When{}
	}
	return When{At: at, Rel: rel, Text: text}
}

// Duration writes a length of time in at most two units: "40s", "12m",
// "2h 10m", "3d". Less than a second, or less than nothing, is "0s".
func Duration(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	switch {
	case s < 60:
		return strconv.FormatInt(s, 10) + "s"
	case s < 3600:
		return strconv.FormatInt(s/60, 10) + "m"
	case s < 86400:
		return twoUnits(s/3600, "h", s%3600/60, "m")
	case s < 3*86400:
		return twoUnits(s/86400, "d", s%86400/3600, "h")
	default:
		return strconv.FormatInt(s/86400, 10) + "d"
	}
}

// Clock writes a length of time with seconds, for clocks that run: "14m 56s";
// from an hour on the seconds go.
func Clock(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	if s >= 60 && s < 3600 {
		return twoUnits(s/60, "m", s%60, "s")
	}
	return Duration(d)
}

// Took writes how long something took, with its seconds: "2h 10m 13s".
func Took(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	if s < 3600 {
		return Clock(d)
	}
	return fmt.Sprintf("%dh %dm %ds", s/3600, s%3600/60, s%60)
}

// Overdue is what is said from a moment on, also on a page that nothing else
// changes. The zero value says nothing.
type Overdue struct {
	At   time.Time
	Text string
	Now  bool // the moment has come
}

// MarshalText leaves out what the browser keeps fresh by itself, for digests of what is shown.
func (o Overdue) MarshalText() ([]byte, error) { return []byte(When{At: o.At}.ISO() + o.Text), nil }

// OverEstimate says that work is over its estimate, nil for none.
func OverEstimate(began time.Time, minutes *int, now time.Time) Overdue {
	if minutes == nil {
		return Overdue{}
	}
	at := began.Add(time.Duration(*minutes) * time.Minute)
	return Overdue{At: at, Text: "over its estimate of " + strconv.Itoa(*minutes) + " min", Now: !now.Before(at)}
}

func twoUnits(a int64, au string, b int64, bu string) string {
	if b == 0 {
		return fmt.Sprintf("%d%s", a, au)
	}
	return fmt.Sprintf("%d%s %d%s", a, au, b, bu)
}

// FieldMoment is the value of a field for a moment in UTC, as <input type="datetime-local"> writes it.
func FieldMoment(at time.Time) string { return at.UTC().Format("2006-01-02T15:04") }

// ISO returns the moment for the datetime attribute, in UTC.
func (w When) ISO() string { return w.At.UTC().Format(time.RFC3339Nano) }

// DrawnAttrs are the attributes by which static/js/time.js keeps a text of a drawing fresh; none of no time.
func (w When) DrawnAttrs() templ.Attributes {
	if w.IsZero() {
		return nil
	}
	return templ.Attributes{"data-at": w.ISO(), "data-rel": string(w.Rel)}
}

// Title returns the absolute time for the title attribute.
func (w When) Title() string {
	if w.isDay() {
		return w.At.UTC().Format(calendarDate)
	}
	return w.At.UTC().Format("2 Jan 2006 15:04:05 UTC")
}

// Count writes a number with thousands separated: "1,284".
func Count(n int) string {
	if n < 0 {
		return "-" + Count(-n)
	}
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
