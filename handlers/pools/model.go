package pools

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/pools"
	"github.com/fleetboard/fleetboard/views/ui"
)

// maxMembers is how many factories of a pool are listed.
const maxMembers = 100

func row(one pools.PoolDemand, chosen bool) view.Row {
	d, p := one.Demand, one.Pool
	text := fmt.Sprintf("%d of at most %s", d.Factories+d.Draining, web.Plural(p.Max, "factory", "factories"))
	if d.Starting > 0 {
		text += ", " + strconv.Itoa(d.Starting) + " starting"
	}
	if d.Queued > 0 {
		text += ", " + web.Plural(d.Queued, "job", "jobs") + " queued"
	}
	return view.Row{ID: "pool-" + ui.DOMID(p.Name), Name: p.Name, URL: links.Pool(p.Name), Text: text, Chosen: chosen,
		AtMaximum: d.AtMaximum}
}

func detail(one pools.PoolDemand, h pools.History, now time.Time, may bool) *view.Detail {
	p, d := one.Pool, one.Demand
	m := &view.Detail{Name: p.Name, Offers: p.Offers.Tokens(), Charts: charts(h.Samples, now)}
	if may {
		m.EditURL = links.EditPool(p.Name)
	}
	m.Demand = fmt.Sprintf("%s wanted for %s queued and %d running: %d there, %d starting.",
		web.Plural(d.Value, "factory is", "factories are"), web.Plural(d.Queued, "job", "jobs"), d.Running, d.Factories, d.Starting)
	if d.AtMaximum {
		m.Demand += " The pool is at its maximum: jobs wait until a factory is free."
	}
	if p.Stalled {
		m.Demand += " For ten minutes none was started: see whether its scaler runs."
	}
	m.Facts = []view.Fact{
		{Name: "Seats", Text: strconv.Itoa(p.Offers.Seats) + " each"},
		{Name: "Factories", Text: fmt.Sprintf("%d to %d, %d idle", p.Min, p.Max, p.MinIdle)},
		{Name: "Cool-down", Text: ui.Duration(time.Duration(p.CoolDownSeconds) * time.Second)},
	}
	if len(p.ProductScope) > 0 {
		m.Facts = append(m.Facts, view.Fact{Name: "Products", Text: strings.Join(p.ProductScope, ", ")})
	}
	starts := "not measured yet"
	if s := p.ColdStartSeconds(); s != nil {
		starts = "about " + strconv.Itoa(*s) + " s"
	}
	m.Facts = append(m.Facts, view.Fact{Name: "Starts in", Text: starts})
	for i, f := range h.Members {
		if m.More = i == maxMembers; m.More {
			break
		}
		m.Members = append(m.Members, member(f))
	}
	for _, s := range h.Starts {
		m.Starts = append(m.Starts, start(s, now))
	}
	return m
}

func member(f pools.Member) view.Member {
	text := fmt.Sprintf("%d of %s taken", f.Taken, web.Plural(f.Seats, "seat", "seats"))
	switch {
	case !f.Live && f.EndedAt != nil:
		text = "ended"
	case !f.Live:
		text = "dead, " + text
	case f.Draining:
		text = "drains, " + text
	}
	return view.Member{Name: f.Name, URL: links.FactoryPlace(ui.FactoryID(f.Name)), Text: text}
}

func start(s pools.FactoryStart, now time.Time) view.Start {
	m := view.Start{Factory: s.Factory, At: ui.Ago(s.StartedAt, now), Failed: s.Failed, Why: s.Detail}
	switch {
	case s.RegisteredAt != nil:
		m.Ready = fmt.Sprintf("%.1f s", s.RegisteredAt.Sub(s.StartedAt).Seconds())
	case s.EndedAt == nil:
		m.Ready = "starting"
	default:
		m.Ready = "never"
	}
	if s.EndedAt != nil {
		m.Ended = ui.Ago(*s.EndedAt, now)
	}
	return m
}

// charts draws the jobs and the factories of the last two hours; none where nothing is known.
func charts(list []pools.Sample, now time.Time) []ui.BarChart {
	known, jobs, factories := 0, 0, 0
	for _, s := range list {
		if s.Known {
			known, jobs, factories = known+1, max(jobs, s.Queued+s.Running), max(factories, s.Factories+s.Starting, s.Value)
		}
	}
	if known == 0 {
		return nil
	}
	draw := func(top int, bar func(bar *ui.ChartBar, column int, s pools.Sample)) (c ui.BarChart) {
		c = ui.BarChart{Top: ui.Count(top), Half: ui.Count(top / 2), Zero: "0", Head: "From", Gaps: known < len(list), Fold: true}
		c.Bars = make([]ui.ChartBar, len(list))
		for i, s := range list {
			c.Bars[i].When = ui.Until(s.At, now)
			if c.Bars[i].Unknown = !s.Known; s.Known {
				bar(&c.Bars[i], i, s)
			}
		}
		return c
	}
	part := func(n, top int) float64 { return float64(n) / float64(top) }
	top := even(jobs)
	work := draw(top, func(b *ui.ChartBar, i int, s pools.Sample) {
		b.Text, b.Cells = fmt.Sprintf("%d running, %d queued", s.Running, s.Queued), []string{ui.Count(s.Running), ui.Count(s.Queued)}
		b.Stack(i, 1, 0, part(s.Running, top))
		b.Stack(i, 2, part(s.Running, top), part(s.Queued, top))
	})
	work.ID, work.Title, work.Label = "pool-jobs", "Jobs", ui.Text("at most "+ui.Count(jobs)+" at once, by five minutes")
	work.Series, work.Columns = []ui.Series{{Number: "1", Name: "running"}, {Number: "2", Name: "queued"}}, []string{"Running", "Queued"}
	high := even(factories)
	hosts := draw(high, func(b *ui.ChartBar, i int, s pools.Sample) {
		b.Text = fmt.Sprintf("%d there, %d starting, %d wanted", s.Factories, s.Starting, s.Value)
		b.Cells = []string{ui.Count(s.Factories), ui.Count(s.Starting), ui.Count(s.Value)}
		b.Beside(i, 0, 2, 1, part(s.Factories+s.Starting, high))
		b.Beside(i, 1, 2, 3, part(s.Value, high))
	})
	hosts.ID, hosts.Title, hosts.Label = "pool-factories", "Factories", ui.Text("at most "+ui.Count(factories)+", by five minutes")
	hosts.Series = []ui.Series{{Number: "1", Name: "there or starting"}, {Number: "3", Name: "wanted"}}
	hosts.Columns = []string{"There", "Starting", "Wanted"}
	return []ui.BarChart{work, hosts}
}

// even returns the top of an axis for numbers up to most: its half is a whole number, too.
func even(most int) int { return max(2, most+most%2) }
