package budgets

import (
	"context"
	"fmt"
	"strconv"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/budgets"
	"github.com/fleetboard/fleetboard/views/links"
)

const (
	// shownEstimates is how many finished jobs are compared.
	shownEstimates = 7
	// estimateWidth is the width of the scale.
	estimateWidth = 540.0
	// tolerated is the share of the actual cost by which an estimate may be off.
	tolerated = 0.2
)

// estimates returns the last finished jobs, each with its expected and its actual cost; nil where
// there are none.
func (p *pages) estimates(ctx context.Context, who tenancy.Principal) (*view.Estimates, error) {
	list, all, err := p.Estimates.Compare(ctx, who, shownEstimates)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	m := &view.Estimates{
		About: "the last " + web.Plural(len(list), "finished job", "finished jobs"),
		Within: fmt.Sprintf("Of the last %s, %d were within 20%% of what they cost, and %d cost no more than nine of ten such jobs.",
			web.Plural(all.Jobs, "job", "jobs"), all.Within, all.Under),
	}
	var highest float64
	for _, c := range list {
		highest = max(highest, float64(c.P50), float64(c.Actual)*(1+tolerated))
	}
	for i := len(list) - 1; i >= 0; i-- {
		m.Rows = append(m.Rows, estimate(list[i], max(highest, 1)))
	}
	return m, nil
}

// estimate returns one job on a scale that ends with the highest amount.
func estimate(c estimates.Compared, highest float64) view.Estimate {
	position := func(amount float64) string { return coordinate(estimateWidth * clamp(amount/highest)) }
	expected, actual := float64(c.P50), float64(c.Actual)
	r := view.Estimate{
		Key:      c.Key,
		URL:      links.Job(c.Key),
		Expected: c.P50.String(),
		Actual:   c.Actual.String(),
		Over:     actual > expected*(1+tolerated),
		X:        position(expected),
		Y:        position(actual),
	}
	r.Line = "M" + r.X + " 8H" + r.Y
	r.Band = "M" + position(actual*(1-tolerated)) + " 8H" + position(actual*(1+tolerated))
	r.Label = "Estimated " + r.Expected + ", actual " + r.Actual
	if expected > 0 {
		r.Factor = strconv.FormatFloat(actual/expected, 'f', 1, 64) + " ×"
	}
	return r
}
