package usage

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// defaultDays is how far the page goes back where its address does not say.
const defaultDays = 30

// offered is how many groups of a dimension the menus offer.
const offered = 20

// periodDays are the periods that the page offers.
var periodDays = []int{1, 7, 30, 90, 365}

// asked is what an address of the page selects.
type asked struct {
	days   int
	query  usage.Query
	stack  usage.Dimension // what the bars of days are divided by
	before usage.Position
}

// parseAsked reads an address. Validation for a period or a place that there is not.
func parseAsked(q url.Values, now time.Time) (asked, error) {
	a := asked{days: defaultDays, stack: usage.Product, query: usage.Query{Filter: map[usage.Dimension][]string{}}}
	if text := q.Get("days"); text != "" {
		days, err := strconv.Atoi(text)
		if err != nil || !slices.Contains(periodDays, days) {
			return a, fault.Invalid("days", "It must be 1, 7, 30, 90 or 365.")
		}
		a.days = days
	}
	if q.Get("stack") == string(usage.Model) {
		a.stack = usage.Model
	}
	// Whole days in UTC, today the last one; a single day is the last 24 hours.
	a.query.Until = now.UTC().Truncate(time.Hour).Add(time.Hour)
	a.query.From = a.query.Until.Add(-24 * time.Hour)
	if a.days > 1 {
		a.query.From = now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-a.days)
	}
	for _, d := range usage.Filters {
		if q.Has(string(d)) {
			values := slices.Compact(slices.Sorted(slices.Values(q[string(d)])))
			if err := web.CheckValues(string(d), values); err != nil {
				return a, err
			}
			a.query.Filter[d] = values
		}
	}
	var ok bool
	if a.before, ok = usage.ParsePosition(q.Get("before")); !ok {
		return a, fault.Invalid("before", "It must be a place that the page gave.")
	}
	return a, nil
}

// step returns what a bar of spending stands for.
func (a asked) step() usage.Dimension {
	if a.days == 1 {
		return usage.Hour
	}
	return usage.Day
}

// view returns what links within the page keep.
func (a asked) view() links.UsageView {
	v := links.UsageView{Filter: map[string][]string{}}
	if a.days != defaultDays {
		v.Days = a.days
	}
	if a.stack != usage.Product {
		v.Stack = string(a.stack)
	}
	for d, values := range a.query.Filter {
		v.Filter[string(d)] = values
	}
	return v
}

// toggled filters by one more value of a dimension, or by one less.
func (a asked) toggled(d usage.Dimension, value string) string {
	v := a.view()
	v.Filter[string(d)] = links.Toggle(v.Filter[string(d)], value)
	return links.UsagePage(v)
}

// chips returns the filters in force.
func (a asked) chips() []ui.ActiveFilter {
	var list []ui.ActiveFilter
	for _, d := range usage.Filters {
		for _, value := range a.query.Filter[d] {
			list = append(list, ui.ActiveFilter{Text: dimensionNames[d] + ": " + groupName(d, value), RemoveURL: a.toggled(d, value)})
		}
	}
	return list
}

// menus returns what the page may be filtered by: the dearest groups of each dimension.
func (a asked) menus(all usage.Report) []ui.FilterMenu {
	var list []ui.FilterMenu
	for _, d := range panelDimensions() {
		any, chosen := a.view(), a.query.Filter[d]
		delete(any.Filter, string(d))
		m := ui.FilterMenu{ID: "usage-" + string(d), Label: dimensionNames[d],
			Options: []ui.FilterOption{{Label: "All", URL: links.UsagePage(any), Selected: len(chosen) == 0}}}
		groups := all.By[d].Sums
		for _, g := range groups[:min(len(groups), offered)] {
			label := groupName(d, g.Group)
			if g.Label != "" {
				label += " " + g.Label
			}
			m.Options = append(m.Options,
				ui.FilterOption{Label: label, URL: a.toggled(d, g.Group), Selected: slices.Contains(chosen, g.Group)})
		}
		list = append(list, m)
	}
	return list
}

// periods returns the periods to choose from.
func (a asked) periods() []ui.Tab {
	list := make([]ui.Tab, 0, len(periodDays))
	for _, days := range periodDays {
		v := a.view()
		v.Days = days
		list = append(list, ui.Tab{Text: periodNames[days], URL: links.UsagePage(v), Current: days == a.days})
	}
	return list
}

// stacks returns what the bars may be divided by.
func (a asked) stacks() []ui.Tab {
	product, model := a.view(), a.view()
	product.Stack, model.Stack = "", string(usage.Model)
	return []ui.Tab{{Text: "By product", URL: links.UsagePage(product), Current: a.stack == usage.Product},
		{Text: "By model", URL: links.UsagePage(model), Current: a.stack == usage.Model}}
}

var periodNames = map[int]string{1: "24 h", 7: "7 d", 30: "30 d", 90: "90 d", 365: "1 year"}

var dimensionNames = map[usage.Dimension]string{usage.Product: "Product", usage.Phase: "Phase", usage.Repo: "Repository",
	usage.Model: "Model", usage.Provider: "Provider", usage.Agent: "Agent", usage.Factory: "Factory", usage.Job: "Job"}

// groupName returns a group in words.
func groupName(d usage.Dimension, value string) string {
	switch {
	case value != "":
		return value
	case d == usage.Phase:
		return "no phase"
	case d == usage.Repo:
		return "no repository"
	}
	return "none"
}
