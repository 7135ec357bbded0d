package budgets

import (
	"context"
	"strconv"
	"time"

	usageparts "github.com/fleetboard/fleetboard/handlers/parts/usage"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/budgets"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// shownModels is how many models are listed beside the chart.
const shownModels = 5

// usageByModel returns the models that the jobs of a budget used in its present period; nil where
// they used none.
func (p *pages) usageByModel(ctx context.Context, who tenancy.Principal, b budgets.Budget, now time.Time) (*view.Models, error) {
	query := usage.Query{From: b.State.Start, Until: now, Filter: usageFilter(b)}
	if earliest := now.Add(24*time.Hour - usage.MaxSpan); query.From.Before(earliest) {
		query.From = earliest
	}
	report, err := p.Usage.Report(ctx, who, query, shownModels, usage.Model)
	if err != nil || report.Total.Entries == 0 {
		return nil, err
	}
	linked := links.UsageView{Filter: map[string][]string{}}
	for d, value := range query.Filter {
		linked.Filter[string(d)] = value
	}
	groups := report.By[usage.Model].Sums
	m := &view.Models{
		Period: ui.Say(ui.T("since "), ui.Moment(calendarDay(b, query.From))),
		Cost:   usageparts.Cost(report.Total),
		URL:    links.UsagePage(linked),
		Rows:   usageparts.Bars(groups, report.Total),
	}
	for i, g := range groups {
		linked.Filter[string(usage.Model)] = []string{g.Group}
		m.Rows[i].Name = g.Group
		m.Rows[i].URL = links.UsagePage(linked)
		m.Rows[i].Series = strconv.Itoa(i + 1)
	}
	return m, nil
}

// usageFilter returns the filter that finds the usage of a budget's jobs.
func usageFilter(b budgets.Budget) map[usage.Dimension][]string {
	filter := map[usage.Dimension][]string{}
	for d, value := range map[usage.Dimension]string{usage.Product: b.Product, usage.Phase: b.Phase, usage.Job: b.JobKey} {
		if value != "" {
			filter[d] = []string{value}
		}
	}
	return filter
}
