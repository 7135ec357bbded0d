package budgets

import (
	"context"
	"fmt"
	"strconv"
	"time"

	usageparts "github.com/fleetboard/fleetboard/handlers/parts/usage"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/budgets"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// shownModels is how many models stand beside the chart.
const shownModels = 5

// models returns what the jobs of a budget used in its present period, nil for nothing.
func (p *pages) models(ctx context.Context, who tenancy.Principal, b budgets.Budget, now time.Time) (*view.Models, error) {
	query := usage.Query{From: b.State.Start, Until: now, Filter: usageFilter(b)}
	if year := now.Add(24*time.Hour - usage.MaxSpan); query.From.Before(year) {
		query.From = year
	}
	report, err := p.Usage.Report(ctx, who, query, shownModels, usage.Model)
	if err != nil || report.Total.Entries == 0 {
		return nil, err
	}
	kept := links.UsageView{Filter: map[string]string{}}
	for d, value := range query.Filter {
		kept.Filter[string(d)] = value
	}
	m := &view.Models{Period: "since " + query.From.In(budgetZone(b)).Format("2 Jan"), Cost: usageparts.Cost(report.Total),
		URL: links.UsagePage(kept)}
	groups := report.By[usage.Model].Sums
	m.Rows = usageparts.Bars(groups, report.Total)
	for i, g := range groups {
		kept.Filter[string(usage.Model)] = g.Group
		m.Rows[i].Name, m.Rows[i].URL, m.Rows[i].Series = g.Group, links.UsagePage(kept), strconv.Itoa(i+1)
	}
	return m, nil
}

// usageFilter returns what usage of a budget's jobs is of.
func usageFilter(b budgets.Budget) map[usage.Dimension]string {
	filter := map[usage.Dimension]string{}
	for d, value := range map[usage.Dimension]string{usage.Product: b.Product, usage.Phase: b.Phase, usage.Job: b.JobKey} {
		if value != "" {
			filter[d] = value
		}
	}
	return filter
}

const (
	// shownEstimates is how many finished jobs are compared.
	shownEstimates = 7
	// estimateWidth is how long the line is that they stand on.
	estimateWidth = 540.0
	// tolerated is by which part of the actual cost an estimate may be off.
	tolerated = 0.2
)

// estimates returns the last finished jobs, expected against actual; nil where there are none.
func (p *pages) estimates(ctx context.Context, who tenancy.Principal) (*view.Estimates, error) {
	list, all, err := p.Estimates.Compare(ctx, who, shownEstimates)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	m := &view.Estimates{About: "the last " + web.Plural(len(list), "finished job", "finished jobs"),
		Within: fmt.Sprintf("Of the last %s, %d were within 20%% of what they cost, and %d cost no more than nine of ten such jobs.",
			web.Plural(all.Jobs, "job", "jobs"), all.Within, all.Under)}
	var most float64
	for _, c := range list {
		most = max(most, float64(c.P50), float64(c.Actual)*(1+tolerated))
	}
	for i := len(list) - 1; i >= 0; i-- {
		m.Rows = append(m.Rows, estimate(list[i], max(most, 1)))
	}
	return m, nil
}

// estimate returns one job on a line that ends with the most.
func estimate(c estimates.Compared, most float64) view.Estimate {
	place := func(amount float64) string { return coordinate(estimateWidth * clamp(amount/most)) }
	expected, actual := float64(c.P50), float64(c.Actual)
	r := view.Estimate{Key: c.Key, URL: links.Job(c.Key), Expected: ui.Dollars(int64(c.P50)), Actual: ui.Dollars(int64(c.Actual)),
		Over: actual > expected*(1+tolerated), X: place(expected), Y: place(actual)}
	r.Line = "M" + r.X + " 8H" + r.Y
	r.Band = "M" + place(actual*(1-tolerated)) + " 8H" + place(actual*(1+tolerated))
	r.Label = "Estimated " + r.Expected + ", actual " + r.Actual
	if expected > 0 {
		r.Factor = strconv.FormatFloat(actual/expected, 'f', 1, 64) + " ×"
	}
	return r
}
