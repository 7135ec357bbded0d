package budgets

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/spend/forecast"
	view "github.com/fleetboard/fleetboard/views/budgets"
	"github.com/fleetboard/fleetboard/views/ui"
)

const dollar = spend.Nanos(1_000_000_000)

// raised returns a month's series of 20 days whose limit goes from 100 to 150 dollars on the 12th.
func raised() budgets.Series {
	var settled []spend.Nanos
	for i := range 20 {
		settled = append(settled, spend.Nanos(i)*4*dollar)
	}
	s := hours(100*dollar, settled...)
	more := 150 * dollar
	for i := range s.Points[11:] {
		s.Points[11+i].Limits.Money = &more
	}
	s.Budget.State.Money = &more
	s.Budget.AlertAt = []int{50, 80, 90, 100}
	gone := s.Budget.State.Start.AddDate(0, 0, 26)
	s.Budget.Projection = forecast.Projection{ExhaustedP50: &gone, Verdict: forecast.RunsOut}
	return s
}

func shown(m view.Mark) string {
	return m.Path + " | " + m.X + " " + m.Y + " " + m.Anchor + " " + m.Says()
}

// What the lines do not show is beside them.
func TestTheMarksOfAChart(t *testing.T) {
	d := chart(raised())
	if want := " | 63.3% 57.3% end now, $64.00 free"; shown(d.Now) != want {
		t.Errorf("the note of now is %s, want %s", shown(d.Now), want)
	}
	if want := "M0 800H1000 |    80% spent"; shown(d.Threshold) != want {
		t.Errorf("the threshold is %s, want %s", shown(d.Threshold), want)
	}
	if want := " | 86.7%  end 27 Nov"; d.RunsOut == nil || shown(*d.RunsOut) != want {
		t.Errorf("it runs out at %+v, want %s", d.RunsOut, want)
	}
	if want := " | 36.7%  start 12 Nov, +$50.00"; len(d.Changes) != 1 || shown(d.Changes[0]) != want {
		t.Errorf("the limit changed at %v", d.Changes)
	}
	if want := "M0 333.3L366.7 577.8L366.7 366.7L1000 1000"; d.Even != want {
		t.Errorf("the even pace is %s, want %s", d.Even, want)
	}
	title := "$90.00 on 1 Nov, limit $150.00 from 12 Nov on, $64.00 free now. Runs out: 27 Nov."
	if got := chart(raised()).Title.String(); got != title {
		t.Errorf("it is called %s, want %s", got, title)
	}
}

// A mark is not drawn where there is nothing to show.
func TestAChartWithoutMarks(t *testing.T) {
	for name, change := range map[string]func(*budgets.Series){
		"nothing foreseen":        func(s *budgets.Series) { s.Budget.Projection.ExhaustedP50 = nil },
		"after the period":        func(s *budgets.Series) { s.Budget.Projection.ExhaustedP50 = new(s.Budget.State.End.Add(time.Hour)) },
		"before now":              func(s *budgets.Series) { s.Budget.Projection.ExhaustedP50 = &s.Budget.State.Start },
		"everything spent by now": func(s *budgets.Series) { s.Points[19].Settled.Money = 150 * dollar },
	} {
		s := raised()
		change(&s)
		if d := chart(s); d.RunsOut != nil {
			t.Errorf("%s: it runs out at %+v", name, d.RunsOut)
		}
	}
	for want, alerts := range map[string][]int{
		"": {100}, " ": nil, "90% spent": {100, 90, 50}, "50% spent": {10, 50}, "80% spent": {80, 90}, "99% spent": {99},
	} {
		s := raised()
		s.Budget.AlertAt = alerts
		if got := chart(s).Threshold; got.Text != strings.TrimSpace(want) || (got.Text == "") != (got.Path == "") {
			t.Errorf("of %v it draws %s", alerts, shown(got))
		}
	}
	if d := chart(hours(100*dollar, 0, 1)); len(d.Changes) != 0 {
		t.Errorf("the limit changed at %v", d.Changes)
	}
}

// No text leaves the drawing or lies on another one, wherever now is, whatever was
// changed and however narrow it is.
func TestTextsOfAChartHaveRoom(t *testing.T) {
	for days := 1; days <= 29; days++ {
		for each := range 6 {
			s := raised()
			s.Points = s.Points[:min(days, 20)]
			for i := range s.Points {
				limit := dollar * spend.Nanos(100+40*(i%(each+1)))
				s.Points[i].Limits.Money, s.Points[i].Settled.Money = &limit, spend.Nanos(i*each)*dollar
				s.Points[i].At = s.Budget.State.Start.Add(time.Duration((i+1)*days*24/len(s.Points)) * time.Hour)
			}
			gone := s.Points[len(s.Points)-1].At.Add(time.Duration(each*7) * time.Hour)
			s.Budget.Projection.ExhaustedP50 = &gone
			c := chart(s)
			name := fmt.Sprintf("day %d, each %d", days, each)
			wantRoom(t, name, *c, leastWide, 228)
			for _, list := range [][]view.Mark{c.Days, c.Changes} {
				for i := range list {
					if list[i].Wide {
						list[i].When, list[i].Text = ui.When{}, ""
					}
				}
			}
			wantRoom(t, name+", narrow", *c, 256, 180)
		}
	}
}

// box is a part of a chart, in pixels; y grows downwards.
type box struct{ left, top, right, bottom float64 }

// wantRoom draws the texts of a chart as the browser does, in an area of so many pixels.
func wantRoom(t *testing.T, name string, c view.Chart, width, height float64) {
	t.Helper()
	if c.Now.Text == "" {
		t.Errorf("%s: nothing tells what is free now", name)
	}
	var taken []box
	put := func(m view.Mark, y, letter float64) {
		if m.Says() == "" {
			return
		}
		x, err := strconv.ParseFloat(strings.TrimSuffix(m.X, "%"), 64)
		if err != nil {
			t.Fatal(err)
		}
		x *= width / 100
		long := float64(len([]rune(m.Says()))) * letter
		left := map[string]float64{"start": x, "middle": x - long/2, "end": x - long}[m.Anchor]
		if y < height {
			left += map[string]float64{"start": 7, "end": -7}[m.Anchor]
		}
		b := box{left, y - 10, left + long, y + 3}
		if b.left < 0 || b.top < 0 || b.right > width+16 {
			t.Errorf("%s: %s leaves the drawing", name, shown(m))
		}
		for _, other := range taken {
			if b.left < other.right && other.left < b.right && b.top < other.bottom && other.top < b.bottom {
				t.Errorf("%s: %s lies on another text", name, shown(m))
			}
		}
		taken = append(taken, b)
	}
	put(c.Now, 10, 6.6)
	if c.RunsOut != nil {
		put(*c.RunsOut, height-58, 6.6)
	}
	for _, m := range c.Changes {
		put(m, 26, 6.2)
	}
	for _, m := range c.Days {
		put(m, height+20, 6.2)
	}
}

// The axis of time has round days, or hours where the time is short.
func TestTheAxisOfTime(t *testing.T) {
	for name, of := range map[string]struct {
		length time.Duration
		want   string
	}{
		"a month": {30 * 24 * time.Hour, "1 Nov, 6 Nov, 11 Nov, 16 Nov, 21 Nov, 26 Nov"},
		"a week":  {7 * 24 * time.Hour, "1 Nov, 2 Nov, 3 Nov, 4 Nov, 5 Nov, 6 Nov, 7 Nov"},
		"a day":   {24 * time.Hour, "00:00 UTC, 04:00 UTC, 08:00 UTC, 12:00 UTC, 16:00 UTC, 20:00 UTC"},
		"an hour": {time.Hour, "00:00 UTC"},
	} {
		s := hours(dollar, 0)
		s.Budget.State.End = s.Budget.State.Start.Add(of.length)
		var got []string
		for _, m := range chart(s).Days {
			got = append(got, m.Says())
		}
		if text := strings.Join(got, ", "); text != of.want {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// A change within a day is named by its hour.
func TestAChangeWithinADay(t *testing.T) {
	s := raised()
	s.Points = s.Points[:2]
	s.Points[1].Limits.Money, s.Points[1].At = s.Budget.State.Money, s.Points[0].At.Add(5*time.Hour)
	s.Budget.State.End = s.Budget.State.Start.AddDate(0, 0, 1)
	if d := chart(s); len(d.Changes) != 1 || d.Changes[0].Says() != "05:00 UTC, +$50.00" {
		t.Errorf("the limit changed at %v", d.Changes)
	}
}

// A budget without periods shows when its money is gone unless that is far away.
func TestTheTimeToCome(t *testing.T) {
	day := 24 * time.Hour
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for name, of := range map[string]struct{ past, gone, want time.Duration }{
		"not foreseen, young": {past: day, want: 7 * day},
		"not foreseen, old":   {past: 80 * day, want: 10 * day},
		"soon":                {past: 80 * day, gone: day, want: 10 * day},
		"later":               {past: 80 * day, gone: 30 * day, want: 33 * day},
		"far away":            {past: 80 * day, gone: 60 * day, want: 10 * day},
	} {
		var gone *time.Time
		if of.gone > 0 {
			gone = new(now.Add(of.gone))
		}
		if got := ahead(now, of.past, gone); got != of.want {
			t.Errorf("%s: %s, want %s", name, got, of.want)
		}
	}
}

// The axis of money has round amounts and reaches the limit.
func TestTheAxisOfMoney(t *testing.T) {
	for limit, want := range map[spend.Nanos]string{
		0: "$0.01 $0.00", 250 * dollar: "$250 $200 $150 $100 $50 $0", dollar / 8: "$0.15 $0.10 $0.05 $0.00",
		1240 * dollar: "$1,250 $1,000 $750 $500 $250 $0", 12 * dollar: "$12.50 $10.00 $7.50 $5.00 $2.50 $0.00",
	} {
		var got []string
		for _, m := range chart(hours(limit, 0)).Grid {
			got = append(got, m.Says())
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%d: %s, want %s", limit, text, want)
		}
	}
}

// What is foreseen ends with the period, and its line where the money does.
func TestTheFanEndsWithThePeriod(t *testing.T) {
	s := hours(100*dollar, 0, 20*dollar, 50*dollar) // 40 dollars are free
	now := s.Points[2].At
	s.Fan = []forecast.Step{{At: now}, {At: now.AddDate(0, 0, 10), P50: 20 * dollar, P90: 80 * dollar},
		{At: now.AddDate(0, 0, 60), P50: 80 * dollar, P90: 90 * dollar}}
	d := chart(s)
	if want := "M66.7 600L66.7 600L400 800L955.6 1000"; d.Likely != want {
		t.Errorf("the line is %s, want %s", d.Likely, want)
	}
	if want := d.Likely + "L1000 1000L1000 1000L400 1000L233.3 1000L66.7 600Z"; d.Fan != want {
		t.Errorf("the area is %s, want %s", d.Fan, want)
	}
}
