package budgets

import (
	"context"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend/forecast"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Bucket is how far apart the points of a series are.
type Bucket string

// The buckets. A day is one of the budget's zone.
const (
	Hourly Bucket = "hour"
	Daily  Bucket = "day"
)

// Point is how a period stood at an instant.
type Point struct {
	At       time.Time
	Limits   Limits // the money alone
	Settled  Amounts
	Reserved Amounts
}

// Series is how the present period of a budget came about, up to now, and how its money
// may go on.
type Series struct {
	Budget Budget
	Points []Point
	// Fan is what the futures will have spent more; it is empty where nothing can be forecast.
	Fan []forecast.Step
}

// hourlySpan is how far back a series by the hour goes.
const hourlySpan = 31 * 24 * time.Hour

// Series reads the present period of a budget. Forbidden; NotFound; Validation.
func (s *Service) Series(ctx context.Context, who tenancy.Principal, id ids.ID, bucket Bucket) (Series, error) {
	if err := mayRead(who); err != nil {
		return Series{}, err
	}
	if bucket != Hourly && bucket != Daily {
		return Series{}, fault.Invalid("bucket", "It must be hour or day.")
	}
	var series Series
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		list, now, err := budgetsTx(ctx, tx, who.Workspace, []ids.ID{id})
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return noBudget()
		}
		if err := presentTx(ctx, tx, who.Workspace, list, now, false); err != nil {
			return err
		}
		series.Budget = list[0]
		since := list[0].State.Start
		if long := now.Add(-hourlySpan); bucket == Hourly && since.Before(long) {
			since = long
		}
		hours, err := hoursTx(ctx, tx, who.Workspace, []ids.ID{id}, earlier(since, now.Add(-history)))
		if err != nil {
			return err
		}
		series.Points = points(list[0], hours[id], since, now, bucket)
		series.Fan = forecast.Fan(input(list[0], hours[id], now))
		return nil
	}, db.Snapshot)
	return series, err
}

// Past reads how the last periods of a budget ended, the last one first: at most so many, and none of
// a budget without periods. Forbidden; NotFound.
func (s *Service) Past(ctx context.Context, who tenancy.Principal, id ids.ID, most int) (past []State, err error) {
	if err := mayRead(who); err != nil {
		return nil, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		list, now, err := budgetsTx(ctx, tx, who.Workspace, []ids.ID{id})
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return noBudget()
		}
		start, _, err := list[0].bounds(now)
		if err != nil {
			return err
		}
		past, err = pastTx(ctx, tx, who.Workspace, id, start, most)
		return err
	}, db.Snapshot)
	return past, err
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// points returns those of the present period from an instant on: how it began where that is not
// before, of each bucket the last one, and how it stands now.
func points(b Budget, hours []hour, since, now time.Time, bucket Bucket) []Point {
	zone, known := loadZone(b.Timezone)
	if !known {
		zone = time.UTC
	}
	key := func(h hour) string {
		if bucket == Daily {
			return h.begins.In(zone).Format(time.DateOnly)
		}
		return h.begins.UTC().Format(time.RFC3339)
	}
	var list []Point
	last := ""
	for _, h := range hours {
		if !h.period.Equal(b.State.Start) || h.begins.Before(since.Truncate(time.Hour)) || !h.At.Before(now) {
			continue
		}
		if k := key(h); k == last {
			list[len(list)-1] = h.Point
		} else {
			list, last = append(list, h.Point), k
		}
	}
	list = append(list, Point{At: now, Limits: Limits{Money: b.State.Money}, Settled: b.State.Settled, Reserved: b.State.Reserved})
	if begins := b.begins(); !begins.Before(since) && begins.Before(list[0].At) {
		list = slices.Insert(list, 0, Point{At: begins, Limits: list[0].Limits})
	}
	return list
}

// begins returns from when on the present period counts: what was spent before a budget was made
// does not.
func (b Budget) begins() time.Time {
	if b.CreatedAt.After(b.State.Start) {
		return b.CreatedAt
	}
	return b.State.Start
}

// hour is how a period stood at the end of an hour.
type hour struct {
	Point

	period time.Time
	begins time.Time
}

// history is how far back a projection looks.
const history = 7 * 24 * time.Hour

// input returns what the projection of a budget goes by.
func input(b Budget, hours []hour, now time.Time) forecast.Input {
	free, _ := b.State.Free()
	in := forecast.Input{Now: now, PeriodEnd: b.State.End, Since: b.SpentSince, Free: free}
	for _, h := range hours {
		if h.At.Before(now) && h.At.After(now.Add(-history)) {
			in.Hours = append(in.Hours, forecast.Hour{At: h.At, Period: h.period, Settled: h.Settled.Money})
		}
	}
	in.Hours = append(in.Hours, forecast.Hour{At: now, Period: b.State.Start, Settled: b.State.Settled.Money})
	return in
}
