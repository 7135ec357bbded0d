package forecast

import (
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/spend"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
	// minDays of history make days the unit that is drawn.
	minDays = 3
	// minSpan is the shortest history that says anything, of as much time to come.
	minSpan = time.Hour
	// outlook is how far ahead the verdict looks where a period has no end.
	outlook = week
	// endless is from when on an end is none.
	endless = 2 * 365 * day
	// horizon is how far futures go: longer than a quarter.
	horizon = 100 * day
)

// Hour is what a budget had settled at an instant, counted from the start of its period
// at that instant: it rises within a period and begins at 0 with each one.
type Hour struct {
	At      time.Time
	Period  time.Time // the start of its period
	Settled spend.Nanos
}

// Input is how a budget stands.
type Input struct {
	Now       time.Time
	PeriodEnd time.Time // more than two years ahead is no end
	// Since is when the budget was first charged, in whichever period; nil where that is
	// unknown.
	Since *time.Time
	// Free is what is neither settled nor reserved.
	Free spend.Nanos
	// Hours are the sums of the last seven days in the order of time, also of the periods
	// before, each at the instant at which it was read (of an hour that has passed: its
	// end). Spending is taken as even between two of them and as nothing after the last
	// one, which is therefore the present sum, at Now.
	Hours []Hour
}

// Verdict is whether the money lasts.
type Verdict string

// The verdicts.
const (
	// Enough: it is more likely than not that the money lasts until the period ends.
	Enough Verdict = "enough"
	// RunsOut: it is more likely than not that it does not.
	RunsOut Verdict = "runs_out"
	// Throttle: nine futures in ten run out before the period ends.
	Throttle Verdict = "throttle"
	// Exhausted: nothing is free.
	Exhausted Verdict = "exhausted"
	// TooLittleData: the history is too short to say.
	TooLittleData Verdict = "too_little_data"
)

// Projection is how long the money lasts.
type Projection struct {
	BurnPerDay1h  spend.Nanos `json:"burn_usd_per_day_1h"`
	BurnPerDay24h spend.Nanos `json:"burn_usd_per_day_24h"`
	BurnPerDay7d  spend.Nanos `json:"burn_usd_per_day_7d"`
	// ExhaustedP50 and ExhaustedP90 are when half and nine tenths of the futures have
	// run out; nil is not within the next 100 days, or further ahead than the history
	// allows to say.
	ExhaustedP50 *time.Time `json:"exhausted_at_p50"`
	ExhaustedP90 *time.Time `json:"exhausted_at_p90"`
	Verdict      Verdict    `json:"verdict"`

	// From is when it was made and Until what the verdict looks ahead to: the end of the
	// period, or a week where it has none.
	From  time.Time `json:"-"`
	Until time.Time `json:"-"`
}

// Project says how long the money of a budget lasts. The same input gives the same
// answer; more free money never gives an earlier instant.
func Project(in Input) Projection {
	c := newCurve(in)
	p := Projection{From: in.Now, Until: until(in),
		BurnPerDay1h: c.burn(time.Hour), BurnPerDay24h: c.burn(day), BurnPerDay7d: c.burn(week)}
	if in.Free <= 0 {
		p.Verdict = Exhausted
		return p
	}
	blocks, sight := c.blocks()
	ends := make([]time.Duration, 0, futures)
	for path := range paths(blocks, sight) {
		ends = append(ends, path.runsOut(in.Free))
	}
	slices.Sort(ends)
	p.ExhaustedP50, p.ExhaustedP90 = instant(in.Now, ends, 50), instant(in.Now, ends, 90)
	p.Verdict = p.verdict(sight)
	return p
}

// until returns the end that the money has to last for.
func until(in Input) time.Time {
	if in.PeriodEnd.Sub(in.Now) > endless {
		return in.Now.Add(outlook)
	}
	return in.PeriodEnd
}

// instant is when so many per cent have run out; nil is never.
func instant(now time.Time, ends []time.Duration, percent int) *time.Time {
	if len(ends) == 0 {
		return nil
	}
	end := ends[(len(ends)*percent+99)/100-1]
	if end == never {
		return nil
	}
	at := now.Add(end)
	return &at
}

func (p Projection) verdict(sight time.Duration) Verdict {
	before := func(at *time.Time) bool { return at != nil && at.Before(p.Until) }
	switch {
	case before(p.ExhaustedP90):
		return Throttle
	case before(p.ExhaustedP50):
		return RunsOut
	case p.ExhaustedP50 == nil && p.From.Add(sight).Before(p.Until):
		return TooLittleData
	}
	return Enough
}
