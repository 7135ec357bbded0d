package budgets

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/spend/forecast"
)

// What a recommendation says is true: a budget that is at its threshold and lasts all the same lacks
// nothing.
func TestARecommendationSaysWhatIsSo(t *testing.T) {
	limit, start := 100*dollar, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	b := budgets.Budget{Period: budgets.Month, Timezone: "UTC", AlertAt: []int{80},
		State: budgets.State{Start: start, End: start.AddDate(0, 1, 0), Limits: budgets.Limits{Money: &limit}}}
	b.Projection.From = start.AddDate(0, 0, 20)
	for _, is := range []struct {
		settled, burn spend.Nanos
		verdict       forecast.Verdict
		want          string
	}{
		{85 * dollar, 0, forecast.Enough, "It has $15.00 free."},
		{85 * dollar, dollar, forecast.Enough, "It has $15.00 free."},
		{85 * dollar, 4 * dollar, forecast.RunsOut, "At $4.00 a day it lacks about $25.00 until 1 Dec."},
		{61 * dollar, 4 * dollar, forecast.RunsOut, "At $4.00 a day it lacks about $1.00 until 1 Dec."},
		{60*dollar + 1, 4 * dollar, forecast.RunsOut, "At $4.00 a day it lacks about $0.01 until 1 Dec."},
		{100 * dollar, dollar, forecast.Exhausted, "At $1.00 a day it lacks about $10.00 until 1 Dec."},
		{100 * dollar, 0, forecast.Exhausted, "It has $0.00 free."},
		{130 * dollar, dollar, forecast.Exhausted, "It is over its limit by $30.00."},
	} {
		b.State.Settled.Money, b.Projection.BurnPerDay7d, b.Projection.Verdict = is.settled, is.burn, is.verdict
		if got := advise(b, nil).Text.String(); got != is.want {
			t.Errorf("with %v of %v spent and %v a day it says %q; want %q", is.settled, limit, is.burn, got, is.want)
		}
	}
}
