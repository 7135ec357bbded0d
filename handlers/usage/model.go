package usage

import (
	"slices"
	"strconv"
	"time"

	usageparts "github.com/fleetboard/fleetboard/handlers/parts/usage"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
	view "github.com/fleetboard/fleetboard/views/usage"
)

// shownCells is how many days or hours the bars may stand for.
const shownCells = 366

// panels are the dimensions that the page shows, each as a list of bars.
var panels = []struct {
	of    usage.Dimension
	title string
}{
	{usage.Product, "By product"}, {usage.Model, "By model"}, {usage.Factory, "By factory"}, {usage.Agent, "By agent"},
	{usage.Phase, "By phase"}, {usage.Job, "By job"},
}

func panelDimensions() []usage.Dimension {
	list := make([]usage.Dimension, len(panels))
	for i, p := range panels {
		list[i] = p.of
	}
	return list
}

// sheet is what the page is made of.
type sheet struct {
	asked

	report   usage.Report
	parts    []part // of the bars
	unpriced []usage.Named
	entries  []usage.Entry
	more     bool // older entries
	now      time.Time
	mayPrice bool
}

func (s sheet) model() view.Usage {
	total := s.report.Total
	if total.Entries == 0 {
		e := ui.Empty{Title: "Nothing was used",
			Text: "Agents tell what models they used, and what is told within the period is summed up here."}
		if len(s.query.Filter) > 0 {
			e.Text, e.ActionLabel, e.ActionURL = "Nothing passes the filters in this period.", "Take the filters away", links.Usage
		}
		return view.Usage{Empty: &e}
	}
	m := view.Usage{Period: ui.Say(ui.Moment(ui.Calendar(s.report.From)), ui.T(" to "),
		ui.Moment(ui.CalendarDate(s.report.Until.Add(-time.Second))), ui.T(", UTC")),
		Cost: usageparts.Cost(total), Tokens: ui.Count(int(total.Tokens())) + " tokens", Meters: meters(total), Unpriced: s.withoutPrice(),
		Days: s.bars(), Entries: s.entryList()}
	if share, any := total.CacheShare(); any {
		m.Cached = usageparts.Percent(share) + " of what was read came from a cache."
	}
	if total.Imputed > 0 {
		m.Imputed = total.Imputed.String() + " more without flat rates"
	}
	for _, p := range panels {
		m.Panels = append(m.Panels, s.panel(p.of, p.title))
	}
	return m
}

func meters(u spend.Usage) []view.Meter {
	return []view.Meter{{Name: "Input", Text: usageparts.Tokens(u.Input)}, {Name: "Cache read", Text: usageparts.Tokens(u.CacheRead)},
		{Name: "Cache write", Text: usageparts.Tokens(u.CacheWrite + u.CacheWrite1h)}, {Name: "Output", Text: usageparts.Tokens(u.Output)}}
}

// withoutPrice says what has no known cost, nil where all has one.
func (s sheet) withoutPrice() *view.Unpriced {
	if s.report.Total.Unpriced == 0 {
		return nil
	}
	u := &view.Unpriced{Text: web.Plural(int(s.report.Total.Unpriced), "entry has", "entries have") +
		" no known cost: the model has no price, and the agent told none. "}
	if len(s.unpriced) > 0 && s.mayPrice {
		u.Text += "Add a price for "
		for _, m := range s.unpriced {
			u.Models = append(u.Models, view.Link{Text: m.Provider + " " + m.Name, URL: links.PriceForm(m.Provider, m.Name)})
		}
	}
	return u
}

func (s sheet) panel(d usage.Dimension, title string) view.Panel {
	groups := s.report.By[d]
	p := view.Panel{ID: string(d), Title: title, Count: ui.Count(groups.Count), CSV: links.UsageGroupsCSV(s.view(), string(d))}
	if groups.Count > shownGroups {
		p.More = "and " + ui.Count(groups.Count-shownGroups) + " more"
	}
	shown := groups.Sums[:min(len(groups.Sums), shownGroups)]
	p.Rows = usageparts.Bars(shown, s.report.Total)
	for i, g := range shown {
		r := &p.Rows[i]
		r.Name, r.URL = groupName(d, g.Group), s.toggled(d, g.Group)
		if g.Label != "" {
			r.Name += " " + g.Label
		}
		r.On = slices.Contains(s.query.Filter[d], g.Group)
		if d == usage.Model {
			r.Series = strconv.Itoa(min(i+1, 5))
		}
	}
	return p
}

func (s sheet) entryList() view.Entries {
	m := view.Entries{CSV: links.UsageEntriesCSV(s.view()), Focus: links.UsageFocusCSV(s.view())}
	for _, e := range s.entries {
		r := view.Entry{At: ui.Ago(e.BookedAt, s.now), JobKey: e.JobKey, Agent: e.Agent, Model: e.Model, Tokens: ui.Count(int(e.Tokens())),
			Cost: entryCost(e), ID: e.ID}
		if e.JobKey != "" {
			r.JobURL = links.Job(e.JobKey)
		}
		if e.Late {
			r.Note = "told after its lease had ended"
		}
		m.Rows = append(m.Rows, r)
	}
	if s.more {
		m.Older = links.UsageBefore(s.view(), s.entries[len(s.entries)-1].Position().String())
	}
	return m
}

func entryCost(e usage.Entry) string {
	switch {
	case e.ComputedNanos != nil && e.Charged == 0 && *e.ComputedNanos > 0:
		return "flat rate"
	case e.ComputedNanos == nil && e.ReportedNanos == nil:
		return "unpriced"
	}
	return e.Charged.String()
}
