package forecast_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/forecast"
)

const (
	hour             = time.Hour
	day              = 24 * hour
	cent spend.Nanos = 10_000_000
)

var noon = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

// history returns what was settled at the end of each of the last hours, given what each of
// them spent.
func history(spent ...spend.Nanos) []forecast.Hour {
	start := noon.Add(-time.Duration(len(spent)) * hour)
	list := []forecast.Hour{{At: start}}
	var sum spend.Nanos
	for i, s := range spent {
		sum += s
		list = append(list, forecast.Hour{At: start.Add(time.Duration(i+1) * hour), Settled: sum})
	}
	return list
}

// steady is so many hours of the same spending.
func steady(hours int, each spend.Nanos) []forecast.Hour {
	return history(slices.Repeat([]spend.Nanos{each}, hours)...)
}

// days returns a history of such days, each spent evenly.
func days(each ...spend.Nanos) []forecast.Hour {
	var spent []spend.Nanos
	for _, d := range each {
		spent = append(spent, slices.Repeat([]spend.Nanos{d / 24}, 24)...)
	}
	return history(spent...)
}

// month returns a budget that ends in twelve days.
func month(free spend.Nanos, hours []forecast.Hour) forecast.Input {
	return forecast.Input{Now: noon, PeriodEnd: noon.AddDate(0, 0, 12), Free: free, Hours: hours}
}

func TestWhetherMoneyLasts(t *testing.T) {
	t.Parallel()
	in := func(n int) *time.Duration { d := time.Duration(n) * hour; return &d }
	endless := month(240*cent, steady(7*24, 10*cent))
	endless.PeriodEnd = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	longer := endless
	longer.Free = 8 * 240 * cent
	next := month(2400*cent, append(steady(7*24, 10*cent), forecast.Hour{At: noon, Period: noon, Settled: 0}))
	for name, c := range map[string]struct {
		in       forecast.Input
		verdict  forecast.Verdict
		p50, p90 *time.Duration
	}{
		"nothing is known":                         {month(cent, nil), forecast.TooLittleData, nil, nil},
		"a new budget":                             {month(cent, []forecast.Hour{{At: noon.Add(-hour / 2)}, {At: noon, Settled: cent}}), forecast.TooLittleData, nil, nil},
		"five hours, and gone in the sixth":        {month(cent, steady(5, cent)), forecast.Throttle, in(1), in(1)},
		"five hours, and there for six":            {month(6*cent, steady(5, cent)), forecast.TooLittleData, nil, nil},
		"nothing is free":                          {month(0, steady(200, cent)), forecast.Exhausted, nil, nil},
		"less than nothing is free, and it is new": {month(-cent, nil), forecast.Exhausted, nil, nil},
		"steady, and gone in four days":            {month(960*cent, steady(7*24, 10*cent)), forecast.Throttle, in(96), in(96)},
		"steady, and gone after the end":           {month(13*240*cent, steady(7*24, 10*cent)), forecast.Enough, in(13 * 24), in(13 * 24)},
		"gone at the end":                          {month(12*240*cent, steady(7*24, 10*cent)), forecast.Enough, in(12 * 24), in(12 * 24)},
		"nothing was spent for a week":             {month(cent, steady(7*24, 0)), forecast.Enough, nil, nil},
		"ten hours of history see ten hours ahead": {month(100*cent, steady(10, cent)), forecast.TooLittleData, nil, nil},
		"within ten hours it is gone":              {month(5*cent, steady(10, cent)), forecast.Throttle, in(5), in(5)},
		"without an end, gone within a week":       {endless, forecast.Throttle, in(24), in(24)},
		"without an end, gone after a week":        {longer, forecast.Enough, in(8 * 24), in(8 * 24)},
		"a new period goes by the last one":        {next, forecast.Throttle, in(240), in(240)},
	} {
		p := forecast.Project(c.in)
		after := func(at *time.Time) *time.Duration {
			if at == nil {
				return nil
			}
			d := at.Sub(noon)
			return &d
		}
		if p.Verdict != c.verdict {
			t.Errorf("%s: the verdict is %s; want %s", name, p.Verdict, c.verdict)
		}
		if diff := cmp.Diff([]*time.Duration{c.p50, c.p90}, []*time.Duration{after(p.ExhaustedP50), after(p.ExhaustedP90)}); diff != "" {
			t.Errorf("%s: p50 and p90 (-want +got):\n%s", name, diff)
		}
	}
}

// Days that differ leave open when the money is gone; the middle is what the mean says.
func TestNoiseWidensTheFan(t *testing.T) {
	t.Parallel()
	p := forecast.Project(month(6*100*cent, days(20*cent, 180*cent, 60*cent, 140*cent, 10*cent, 190*cent, 100*cent)))
	p50, p90 := p.ExhaustedP50.Sub(noon), p.ExhaustedP90.Sub(noon)
	if p50 < 5*day || p50 > 7*day || p90 < p50+12*hour || p90 > 14*day {
		t.Errorf("$6 at about $1 a day are gone after %s, and almost surely after %s", p50, p90)
	}
}

// Document 001 divides by the last day: one day off, and money lasts for ever.
func TestAQuietDayIsOneOfSeven(t *testing.T) {
	t.Parallel()
	busy := 240 * cent
	p := forecast.Project(month(10*busy, days(busy, busy, busy, busy, busy, busy, 0)))
	if p.BurnPerDay1h != 0 || p.BurnPerDay24h != 0 || p.BurnPerDay7d < 200*cent || p.BurnPerDay7d > 210*cent {
		t.Errorf("a day is $%s by the last hour, $%s by the last day, $%s by the last week",
			p.BurnPerDay1h.USD(), p.BurnPerDay24h.USD(), p.BurnPerDay7d.USD())
	}
	if p.ExhaustedP50 == nil || p.ExhaustedP50.Sub(noon) > 13*day {
		t.Errorf("after a quiet day money lasts until %v", p.ExhaustedP50)
	}
}

func TestBurn(t *testing.T) {
	t.Parallel()
	spent := slices.Concat(slices.Repeat([]spend.Nanos{cent}, 6*24), slices.Repeat([]spend.Nanos{3 * cent}, 23), []spend.Nanos{10 * cent})
	for name, c := range map[string]struct {
		hours []forecast.Hour
		want  [3]spend.Nanos // by the last hour, day and week
	}{
		"nothing":           {nil, [3]spend.Nanos{}},
		"one sum":           {[]forecast.Hour{{At: noon, Settled: cent}}, [3]spend.Nanos{}},
		"a week":            {history(spent...), [3]spend.Nanos{240 * cent, 79 * cent, 223 * cent / 7}},
		"six hours":         {steady(6, cent), [3]spend.Nanos{24 * cent, 24 * cent, 24 * cent}},
		"ten minutes":       {[]forecast.Hour{{At: noon.Add(-hour / 6)}, {At: noon, Settled: cent}}, [3]spend.Nanos{24 * cent, 24 * cent, 24 * cent}},
		"the coming hour":   {[]forecast.Hour{{At: noon.Add(-hour)}, {At: noon.Add(hour), Settled: cent}}, [3]spend.Nanos{}},
		"hours are missing": {[]forecast.Hour{{At: noon.Add(-48 * hour)}, {At: noon, Settled: 48 * cent}}, [3]spend.Nanos{24 * cent, 24 * cent, 24 * cent}},
		"as much as there is": {[]forecast.Hour{{At: noon.Add(-hour)}, {At: noon, Settled: math.MaxInt64}},
			[3]spend.Nanos{math.MaxInt64, math.MaxInt64, math.MaxInt64}},
	} {
		p := forecast.Project(month(cent, c.hours))
		if got := [3]spend.Nanos{p.BurnPerDay1h, p.BurnPerDay24h, p.BurnPerDay7d}; got != c.want {
			t.Errorf("%s: %v a day; want %v", name, got, c.want)
		}
	}
}

// A period that begins with more than the last one had settled is still a new one.
func TestASumOfANewPeriodIsSpentInIt(t *testing.T) {
	t.Parallel()
	in := month(cent, []forecast.Hour{{At: noon.Add(-26 * hour), Settled: 5 * cent}, {At: noon, Period: noon.Add(-12 * hour), Settled: 7 * cent}})
	if p := forecast.Project(in); p.BurnPerDay7d != 7*cent*24/26 {
		t.Errorf("7 cents in 26 hours are $%s a day", p.BurnPerDay7d.USD())
	}
}

// someHours returns what some hours have spent.
func someHours(r *rapid.T) []spend.Nanos {
	return rapid.SliceOfN(rapid.Map(rapid.Int64Range(0, 1000), func(n int64) spend.Nanos { return spend.Nanos(n) * cent }), 0, 200).
		Draw(r, "spent by the hour")
}

// notLater says whether an instant is not after another; nil is never.
func notLater(a, b *time.Time) bool { return b == nil || a != nil && !a.After(*b) }

// Whatever was spent: the same input gives the same answer, the median is not after the
// 90th percentile, more free money never runs out earlier, and more spending never later.
func TestProjectionsAreMonotone(t *testing.T) {
	t.Parallel()
	rank := map[forecast.Verdict]int{forecast.Throttle: 1, forecast.RunsOut: 2, forecast.TooLittleData: 3, forecast.Enough: 3}
	rapid.Check(t, func(r *rapid.T) {
		spent := someHours(r)
		free := spend.Nanos(rapid.Int64Range(1, 200_000).Draw(r, "free")) * cent
		more := free + spend.Nanos(rapid.Int64Range(0, 50_000).Draw(r, "more"))*cent
		in := month(free, history(spent...))
		p := forecast.Project(in)
		if diff := cmp.Diff(p, forecast.Project(in)); diff != "" {
			r.Fatalf("the same input:\n%s", diff)
		}
		if !notLater(p.ExhaustedP50, p.ExhaustedP90) {
			r.Fatalf("p50 is %v and p90 %v", p.ExhaustedP50, p.ExhaustedP90)
		}
		if p.ExhaustedP50 != nil && p.ExhaustedP50.Before(noon) {
			r.Fatalf("it ran out at %v", p.ExhaustedP50)
		}
		q := forecast.Project(month(more, history(spent...)))
		if !notLater(p.ExhaustedP50, q.ExhaustedP50) || !notLater(p.ExhaustedP90, q.ExhaustedP90) {
			r.Fatalf("more money: %v, %v become %v, %v", p.ExhaustedP50, p.ExhaustedP90, q.ExhaustedP50, q.ExhaustedP90)
		}
		if rank[q.Verdict] < rank[p.Verdict] {
			r.Fatalf("more money: %s becomes %s", p.Verdict, q.Verdict)
		}
		if len(spent) == 0 {
			return
		}
		spent[rapid.IntRange(0, len(spent)-1).Draw(r, "the hour")] += 50 * cent
		q = forecast.Project(month(free, history(spent...)))
		if !notLater(q.ExhaustedP50, p.ExhaustedP50) || !notLater(q.ExhaustedP90, p.ExhaustedP90) {
			r.Fatalf("more spending: %v, %v become %v, %v", p.ExhaustedP50, p.ExhaustedP90, q.ExhaustedP50, q.ExhaustedP90)
		}
	})
}

// The fan begins at nothing, rises, and says what the instants of the projection say.
func TestTheFanAgreesWithTheInstants(t *testing.T) {
	t.Parallel()
	if fan := forecast.Fan(month(cent, nil)); len(fan) != 0 {
		t.Errorf("too little data has the fan %v", fan)
	}
	if fan := forecast.Fan(month(cent, steady(10, cent))); len(fan) != 11 || fan[10].P50 != 10*cent {
		t.Errorf("ten hours see %v ahead", fan)
	}
	rapid.Check(t, func(r *rapid.T) {
		spent := someHours(r)
		for len(spent) < 72 {
			spent = append(spent, cent)
		}
		in := month(spend.Nanos(rapid.Int64Range(1, 200_000).Draw(r, "free"))*cent, history(spent...))
		fan, p := forecast.Fan(in), forecast.Project(in)
		if len(fan) != 13 || fan[0] != (forecast.Step{At: noon}) || !fan[12].At.Equal(in.PeriodEnd) {
			r.Fatalf("the fan is %v", fan)
		}
		for i, s := range fan[1:] {
			if s.P50 < fan[i].P50 || s.P90 < fan[i].P90 || s.P90 < s.P50 {
				r.Fatalf("the fan falls: %v", fan)
			}
			gone := p.ExhaustedP50 != nil && !p.ExhaustedP50.After(s.At)
			if spent := s.P50 >= in.Free; spent && !gone {
				r.Fatalf("by %s half have spent $%s of $%s, and the median of the ends is %v", s.At, s.P50.USD(), in.Free.USD(), p.ExhaustedP50)
			}
		}
	})
}

// young returns a budget of which a cent was spent each minute since its first entry, with the
// sums of the full hours since then but for those that are missing, and those of the ends of
// periods, which are kept also later.
func young(age time.Duration, period func(time.Time) time.Time, missing func(time.Time) bool) forecast.Input {
	since := noon.Add(-age)
	in := forecast.Input{Now: noon, PeriodEnd: noon.Add(10 * day), Since: &since, Free: cent}
	at := func(t time.Time) forecast.Hour {
		// The last instant of a period is one of it.
		start := period(t.Add(-time.Nanosecond))
		from := since
		if start.After(from) {
			from = start
		}
		return forecast.Hour{At: t, Period: start, Settled: spend.Nanos(t.Sub(from)/time.Minute) * cent}
	}
	for t := since.Truncate(hour / 2).Add(hour / 2); t.Before(noon); t = t.Add(hour / 2) {
		ends := period(t.Add(-time.Nanosecond)) != period(t)
		if noon.Sub(t) < 7*day && (ends || t.Truncate(hour).Equal(t) && !missing(t)) {
			in.Hours = append(in.Hours, at(t))
		}
	}
	in.Hours = append(in.Hours, at(noon))
	return in
}

// What was spent before the first hour's sum counts: a budget's history goes back to its
// first entry, whatever its age, over periods that begin, hours that are missing and days on
// which clocks change.
func TestAYoungBudgetGoesByItsFirstEntry(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	once := func(time.Time) time.Time { return time.Unix(0, 0) }
	daily := func(zone *time.Location, shift time.Duration) func(time.Time) time.Time {
		return func(t time.Time) time.Time {
			y, m, d := t.Add(shift).In(zone).Date()
			return time.Date(y, m, d, 0, 0, 0, 0, zone).Add(-shift)
		}
	}
	// As if noon were on the days after the clocks changed: in October a day has 25 hours, in March 23.
	october, march := time.Date(2026, 10, 26, 11, 0, 0, 0, time.UTC).Sub(noon), time.Date(2026, 3, 30, 10, 0, 0, 0, time.UTC).Sub(noon)
	none, all := func(time.Time) bool { return false }, func(time.Time) bool { return true }
	gap := func(t time.Time) bool { return noon.Sub(t) > 2*hour && noon.Sub(t) < 20*hour }
	for _, age := range []time.Duration{time.Minute, 10 * time.Minute, 59 * time.Minute, hour, 61 * time.Minute, 5 * hour, 23 * hour, 25 * hour, 49 * hour, 6 * day, 9 * day} {
		for name, in := range map[string]forecast.Input{
			"one period": young(age, once, none), "no hour is kept": young(age, once, all), "hours are missing": young(age, once, gap),
			"days": young(age, daily(time.UTC, 0), none), "days and missing hours": young(age, daily(time.UTC, 12*hour+30*time.Minute), none),
			"a day of 25 hours": young(age, daily(berlin, october), none), "a day of 23 hours": young(age, daily(berlin, march), none),
		} {
			p := forecast.Project(in)
			spent := func(while time.Duration) spend.Nanos {
				known := max(age, hour)
				while = min(while, known)
				return spend.Nanos(float64(min(while, age)/time.Minute) * float64(cent) * float64(day) / float64(while))
			}
			for rate, got := range map[time.Duration]spend.Nanos{hour: p.BurnPerDay1h, day: p.BurnPerDay24h, 7 * day: p.BurnPerDay7d} {
				if want := spent(rate); got < want-want/100-1 || got > want+want/100+1 {
					t.Errorf("%s, %s: $%s a day by the last %s; want $%s", name, age, got.USD(), rate, want.USD())
				}
			}
			want := forecast.Throttle
			if age < hour {
				want = forecast.TooLittleData
			}
			if p.Verdict != want || (forecast.ThrottledBelow(p, 0) > 0) != (want == forecast.Throttle) {
				t.Errorf("%s, %s: the verdict is %s; want %s", name, age, p.Verdict, want)
			}
		}
	}
}
