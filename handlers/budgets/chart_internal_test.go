package budgets

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/spend/forecast"
)

var numbers = regexp.MustCompile(`-?[0-9.]+`)

// hours returns a month's series with a limit, of which so much is settled by the hour.
func hours(limit spend.Nanos, settled ...spend.Nanos) budgets.Series {
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	s := budgets.Series{Budget: budgets.Budget{Period: budgets.Month, Timezone: "UTC",
		State: budgets.State{Start: start, End: start.AddDate(0, 1, 0), Limits: budgets.Limits{Money: &limit}}}}
	for i, amount := range settled {
		s.Points = append(s.Points, budgets.Point{At: start.Add(time.Duration(i) * 24 * time.Hour),
			Limits: budgets.Limits{Money: &limit}, Settled: budgets.Amounts{Money: amount}, Reserved: budgets.Amounts{Money: limit / 10}})
	}
	return s
}

// The line goes through what the table says, point by point.
func TestTheChartIsTheTable(t *testing.T) {
	s := hours(100_000_000_000, 0, 20_000_000_000, 50_000_000_000)
	now := s.Points[2].At
	s.Fan = []forecast.Step{{At: now.AddDate(0, 0, 1), P50: 10_000_000_000, P90: 20_000_000_000}}
	c := chart(s)
	if want := "M0 100H33.3V300H66.7V600"; c.Free != want {
		t.Errorf("the line is %s, want %s", c.Free, want)
	}
	if want := "M66.7 600L100 700L100 800Z"; c.Fan != want {
		t.Errorf("the fan is %s, want %s", c.Fan, want)
	}
	var told []string
	for _, p := range c.Table {
		told = append(told, p.At.Text+" "+p.Free+" "+p.Reserved+" "+p.Limit)
	}
	want := "1 Nov 00:00 UTC $90.00 $10.00 $100.00, 2 Nov 00:00 UTC $70.00 $10.00 $100.00, 3 Nov 00:00 UTC $40.00 $10.00 $100.00"
	if got := strings.Join(told, ", "); got != want {
		t.Errorf("the table is %s", got)
	}
	if !strings.HasPrefix(c.Title.String(), "$90.00 on 1 Nov, $40.00 free now.") {
		t.Errorf("it is called %s", c.Title)
	}
}

// Whatever the series has, all is drawn within the plane and by numbers.
func TestAChartStaysInItsPlane(t *testing.T) {
	if chart(budgets.Series{}) != nil {
		t.Error("nothing makes a chart")
	}
	unlimited := hours(1, 1)
	unlimited.Points[0].Limits.Money = nil
	if chart(unlimited) != nil {
		t.Error("no limit makes a chart")
	}
	once := hours(5, 1)
	once.Budget.Period, once.Budget.State.End = budgets.Once, budgets.Forever
	still := hours(5, 1, 2)
	still.Budget.State.End = still.Budget.State.Start
	for name, s := range map[string]budgets.Series{
		"one point": hours(5, 1), "nothing to spend": hours(0, 0, 0), "spent without a limit left": hours(0, 7, 8), "too much": hours(10, 5, 40),
		"huge": hours(math.MaxInt64/2, 0, math.MaxInt64/2), "once": once, "no time": still,
	} {
		c := chart(s)
		for _, d := range []string{c.Free, c.Reserved, c.Even, c.Now.X + c.Now.Y} {
			if strings.Contains(d, "NaN") || strings.Contains(d, "Inf") {
				t.Errorf("%s: %s", name, d)
			}
			for _, n := range numbers.FindAllString(d, -1) {
				if at, err := strconv.ParseFloat(n, 64); err != nil || at < 0 || at > 1000 || len(n) > 6 {
					t.Errorf("%s: %s in %s", name, n, d)
				}
			}
		}
	}
}
