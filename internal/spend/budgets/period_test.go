package budgets_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/internal/spend/budgets"
)

// zones have daylight saving of an hour and of half an hour, at midnight and at other
// hours, on both halves of the earth; one has none, one has left a day out, and one has
// set its clocks back over midnight.
var zones = []string{"Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Kolkata",
	"America/Havana", "America/St_Johns", "Pacific/Apia", "Asia/Beirut", "UTC"}

func zone(t interface{ Fatal(args ...any) }, name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// Each instant lies in exactly one period, periods follow one another without a gap or an
// overlap, and whenever somebody looks, the bounds are the same.
func TestPeriodsTileTheTime(t *testing.T) {
	t.Parallel()
	begin, end := time.Date(2004, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), time.Date(2045, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	rapid.Check(t, func(t *rapid.T) {
		z := zone(t, rapid.SampledFrom(zones).Draw(t, "zone"))
		p := rapid.SampledFrom(budgets.Periods[1:]).Draw(t, "period")
		at := time.Unix(rapid.Int64Range(begin, end).Draw(t, "at"), 0)
		if rapid.Bool().Draw(t, "near a change of the clocks") {
			if _, change := at.In(z).ZoneBounds(); !change.IsZero() {
				at = change.Add(time.Duration(rapid.Int64Range(-2*86400, 2*86400).Draw(t, "away")) * time.Second)
			}
		}
		start, end := bounds(t, p, at, z)
		if at.Before(start) || !at.Before(end) {
			t.Fatalf("%v is not between %v and %v", at, start, end)
		}
		for _, in := range []time.Time{start, end.Add(-1), start.Add(end.Sub(start) / 2)} {
			if s, e := bounds(t, p, in, z); !s.Equal(start) || !e.Equal(end) {
				t.Fatalf("%v lies in %v - %v, and %v in %v - %v", at, start, end, in, s, e)
			}
		}
		if s, _ := bounds(t, p, end, z); !s.Equal(end) {
			t.Fatalf("after %v comes %v", end, s)
		}
		if _, e := bounds(t, p, start.Add(-1), z); !e.Equal(start) {
			t.Fatalf("%v was before %v", e, start)
		}
	})
}

func bounds(t interface{ Fatal(args ...any) }, p budgets.Period, at time.Time, z *time.Location) (start, end time.Time) {
	start, end, err := p.Bounds(at, z)
	if err != nil {
		t.Fatal(err)
	}
	return start, end
}

// Ends of months and both changes of the clocks, in five zones and those where a day has
// no midnight, two, or does not exist.
func TestTheCalendarOfAZone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone       string
		period     budgets.Period
		at         string // local
		start, end string // UTC
	}{
		{"Europe/Berlin", budgets.Day, "2026-03-29T12:00:00", "2026-03-28T23:00:00", "2026-03-29T22:00:00"},
		{"Europe/Berlin", budgets.Day, "2026-10-25T12:00:00", "2026-10-24T22:00:00", "2026-10-25T23:00:00"},
		{"Europe/Berlin", budgets.Month, "2026-03-31T23:59:59", "2026-02-28T23:00:00", "2026-03-31T22:00:00"},
		{"Europe/Berlin", budgets.Month, "2028-02-29T23:59:59", "2028-01-31T23:00:00", "2028-02-29T23:00:00"},
		{"Europe/Berlin", budgets.Month, "2026-12-31T23:59:59", "2026-11-30T23:00:00", "2026-12-31T23:00:00"},
		{"Europe/Berlin", budgets.Quarter, "2026-10-01T00:00:00", "2026-09-30T22:00:00", "2026-12-31T23:00:00"},
		{"Europe/Berlin", budgets.Week, "2026-10-25T23:00:00", "2026-10-18T22:00:00", "2026-10-25T23:00:00"},
		{"Europe/Berlin", budgets.Week, "2026-10-26T00:00:00", "2026-10-25T23:00:00", "2026-11-01T23:00:00"},
		{"America/New_York", budgets.Day, "2026-03-08T12:00:00", "2026-03-08T05:00:00", "2026-03-09T04:00:00"},
		{"America/New_York", budgets.Day, "2026-11-01T12:00:00", "2026-11-01T04:00:00", "2026-11-02T05:00:00"},
		{"America/New_York", budgets.Month, "2026-11-30T23:59:59", "2026-11-01T04:00:00", "2026-12-01T05:00:00"},
		{"America/New_York", budgets.Quarter, "2026-03-31T23:59:59", "2026-01-01T05:00:00", "2026-04-01T04:00:00"},
		{"Australia/Lord_Howe", budgets.Day, "2026-04-05T12:00:00", "2026-04-04T13:00:00", "2026-04-05T13:30:00"},
		{"Australia/Lord_Howe", budgets.Day, "2026-10-04T12:00:00", "2026-10-03T13:30:00", "2026-10-04T13:00:00"},
		{"Australia/Lord_Howe", budgets.Month, "2026-04-30T23:59:59", "2026-03-31T13:00:00", "2026-04-30T13:30:00"},
		{"Asia/Kolkata", budgets.Month, "2026-02-28T23:59:59", "2026-01-31T18:30:00", "2026-02-28T18:30:00"},
		{"Asia/Kolkata", budgets.Week, "2026-01-01T00:00:00", "2025-12-28T18:30:00", "2026-01-04T18:30:00"},
		// At midnight the clocks go to one o'clock; back from midnight to eleven.
		{"America/Sao_Paulo", budgets.Day, "2018-11-04T12:00:00", "2018-11-04T03:00:00", "2018-11-05T02:00:00"},
		{"America/Sao_Paulo", budgets.Day, "2018-11-03T12:00:00", "2018-11-03T03:00:00", "2018-11-04T03:00:00"},
		{"America/Sao_Paulo", budgets.Day, "2018-02-17T12:00:00", "2018-02-17T02:00:00", "2018-02-18T03:00:00"},
		{"America/Sao_Paulo", budgets.Month, "2018-11-30T23:59:59", "2018-11-01T03:00:00", "2018-12-01T02:00:00"},
		{"Africa/Cairo", budgets.Day, "2024-04-26T12:00:00", "2024-04-25T22:00:00", "2024-04-26T21:00:00"},
		{"Africa/Cairo", budgets.Day, "2024-10-31T12:00:00", "2024-10-30T21:00:00", "2024-10-31T22:00:00"},
		{"Africa/Cairo", budgets.Month, "2024-10-31T23:59:59", "2024-09-30T21:00:00", "2024-10-31T22:00:00"},
		// At one the clocks go back to midnight: the day begins with the first of both.
		{"America/Havana", budgets.Day, "2024-11-03T12:00:00", "2024-11-03T04:00:00", "2024-11-04T05:00:00"},
		// One minute past midnight the clocks go back to the day before, once.
		{"America/St_Johns", budgets.Day, "2010-11-06T12:00:00", "2010-11-06T02:30:00", "2010-11-07T02:30:00"},
		{"America/St_Johns", budgets.Day, "2010-11-07T12:00:00", "2010-11-07T02:30:00", "2010-11-08T03:30:00"},
		// There was no 30 December.
		{"Pacific/Apia", budgets.Day, "2011-12-29T12:00:00", "2011-12-29T10:00:00", "2011-12-30T10:00:00"},
		{"Pacific/Apia", budgets.Day, "2011-12-31T12:00:00", "2011-12-30T10:00:00", "2011-12-31T10:00:00"},
	} {
		z := zone(t, c.zone)
		at, err := time.ParseInLocation("2006-01-02T15:04:05", c.at, z)
		if err != nil {
			t.Fatal(err)
		}
		start, end := bounds(t, c.period, at, z)
		const layout = "2006-01-02T15:04:05"
		if got, want := fmt.Sprint(start.Format(layout), " - ", end.Format(layout)), c.start+" - "+c.end; got != want {
			t.Errorf("%s, %s at %s: %s, want %s", c.zone, c.period, c.at, got, want)
		}
	}
}

func TestABudgetWithoutPeriodsLastsForever(t *testing.T) {
	t.Parallel()
	start, end := bounds(t, budgets.Once, time.Now(), time.UTC)
	if !start.Equal(time.Unix(0, 0)) || !end.Equal(budgets.Forever) {
		t.Errorf("%v - %v", start, end)
	}
	if _, _, err := budgets.Period("year").Bounds(time.Now(), time.UTC); err == nil {
		t.Error("a year is a period")
	}
}
