package statuspage

import (
	"math"
	"time"

	"github.com/fleetboard/fleetboard/internal/coordinator"
	view "github.com/fleetboard/fleetboard/views/statuspage"
	"github.com/fleetboard/fleetboard/views/ui"
)

// charts draws what the queue did in the last hours. Where nothing is known of any of them there is none.
func (s pageData) charts() view.Charts {
	known := 0
	for _, h := range s.hours {
		if h.Known {
			known++
		}
	}
	if known == 0 {
		return view.Charts{}
	}
	list := []ui.BarChart{s.depth(), s.rates(), s.waits()}
	for i := range list {
		list[i].Gaps, list[i].Fold, list[i].Head = known < len(s.hours), true, "Hour from"
	}
	return view.Charts{List: list}
}

// bars returns a bar of each hour, drawn by a function where something is known of it.
func (s pageData) bars(draw func(bar *ui.ChartBar, column int, h coordinator.QueueHour)) []ui.ChartBar {
	list := make([]ui.ChartBar, len(s.hours))
	for i, h := range s.hours {
		list[i].When = ui.Until(h.Begins, s.now)
		if list[i].Unknown = !h.Known; h.Known {
			draw(&list[i], i, h)
		}
	}
	return list
}

// depth is how many jobs were ready at the end of each hour.
func (s pageData) depth() ui.BarChart {
	var most coordinator.QueueHour
	for _, h := range s.hours {
		if h.Known && h.Ready >= most.Ready {
			most = h
		}
	}
	top := countTop(most.Ready)
	c := ui.BarChart{ID: "queue-depth", Title: "Jobs ready", Top: count(top), Half: count(top / 2), Zero: "0",
		Series: []ui.Series{{Number: "1", Name: "at the end of the hour"}}, Columns: []string{"Ready"}}
	if last := s.hours[len(s.hours)-1]; last.Known {
		c.Label = append(c.Label, ui.T(count(last.Ready)+" now, "))
	}
	c.Label = append(c.Label, ui.T("most "+count(most.Ready)+" in the hour from "), ui.Moment(ui.Until(most.Begins, s.now)))
	c.Bars = s.bars(func(bar *ui.ChartBar, column int, h coordinator.QueueHour) {
		bar.Text, bar.Cells = count(h.Ready)+" ready", []string{count(h.Ready)}
		bar.Stack(column, 1, 0, part(h.Ready, top))
	})
	return c
}

// rates are the claims and the ends of leases in each hour.
func (s pageData) rates() ui.BarChart {
	var claims, ends, most int64
	for _, h := range s.hours {
		claims, ends, most = claims+h.Claims, ends+h.Ends, max(most, h.Claims, h.Ends)
	}
	top := countTop(most)
	c := ui.BarChart{ID: "queue-rates", Title: "Jobs an hour", Top: count(top), Half: count(top / 2), Zero: "0",
		Label:   ui.Text(count(claims) + " claimed, " + count(ends) + " ended in 24 hours"),
		Series:  []ui.Series{{Number: "1", Name: "claimed"}, {Number: "3", Name: "ended"}},
		Columns: []string{"Claimed", "Ended"}}
	c.Bars = s.bars(func(bar *ui.ChartBar, column int, h coordinator.QueueHour) {
		bar.Text = count(h.Claims) + " claimed, " + count(h.Ends) + " ended"
		bar.Cells = []string{count(h.Claims), count(h.Ends)}
		bar.Beside(column, 0, 2, 1, part(h.Claims, top))
		bar.Beside(column, 1, 2, 3, part(h.Ends, top))
	})
	return c
}

// waits are how long the jobs that were claimed in each hour had been ready.
func (s pageData) waits() ui.BarChart {
	var most time.Duration
	label := ui.Text("nothing was claimed")
	for _, h := range s.hours {
		most = max(most, h.P95)
		if h.Claims > 0 {
			label = ui.Say(ui.T(within(h)+" in the hour from "),
				ui.Moment(ui.Until(h.Begins, s.now)))
		}
	}
	top := waitTop(most)
	c := ui.BarChart{ID: "queue-waits", Title: "Wait for a claim", Top: wait(top), Half: wait(top / 2), Zero: "0s", Label: label,
		Series:  []ui.Series{{Number: "1", Name: "half of the jobs (p50)"}, {Number: "2", Name: "95% of the jobs (p95)"}},
		Columns: []string{"p50", "p95"}}
	c.Bars = s.bars(func(bar *ui.ChartBar, column int, h coordinator.QueueHour) {
		if bar.Cells = []string{"–", "–"}; h.Claims == 0 {
			return
		}
		bar.Text = within(h)
		bar.Cells = []string{wait(h.P50), wait(h.P95)}
		half, rest := part(int64(h.P50), int64(top)), part(int64(h.P95-h.P50), int64(top))
		bar.Stack(column, 1, 0, half)
		bar.Stack(column, 2, half, rest)
	})
	return c
}

func count(n int64) string { return ui.Count(int(n)) }

// within says in which time jobs were claimed, in whole seconds.
func within(h coordinator.QueueHour) string {
	return "half within " + ui.Duration(max(h.P50, time.Second)) + ", 95% within " + ui.Duration(max(h.P95, time.Second))
}

// wait writes a wait: "40s", "2h 10m".
func wait(d time.Duration) string {
	if d < time.Second {
		return "under 1s"
	}
	return ui.Duration(d)
}

func part(n, of int64) float64 { return float64(max(n, 0)) / float64(of) }

// countTop returns the top of an axis for numbers up to most: its half is a whole number, too.
func countTop(most int64) int64 {
	for power := int64(1); power < math.MaxInt64/100; power *= 10 {
		for _, times := range []int64{2, 4, 10} {
			if times*power >= most {
				return times * power
			}
		}
	}
	return most
}

// waitTop returns the top of an axis for waits up to most.
func waitTop(most time.Duration) time.Duration {
	const day = 24 * time.Hour
	for _, top := range []time.Duration{2 * time.Second, 10 * time.Second, 20 * time.Second, time.Minute, 2 * time.Minute, 10 * time.Minute,
		20 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 12 * time.Hour, day, 2 * day, 4 * day, 10 * day, 20 * day} {
		if top >= most {
			return top
		}
	}
	return 40 * day
}
