package job_test

import (
	"testing"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
)

// What a job is expected to cost says by what, and what a budget has left says whether the
// job waits for it.
func TestMoneyInWords(t *testing.T) {
	dollar := spend.Nanos(1_000_000_000)
	for _, c := range []struct {
		e    estimates.Estimate
		want string
	}{
		{estimates.Estimate{P50: dollar, P90: 2 * dollar, Source: estimates.History, Samples: 1},
			"About $1.00; nine of ten such jobs cost at most $2.00. By what 1 finished job cost."},
		{estimates.Estimate{P50: dollar, P90: 2 * dollar, Source: estimates.Formula},
			"About $1.00; nine of ten such jobs cost at most $2.00. By a formula, until jobs like it have finished."},
	} {
		if got := jobparts.Expected(c.e).String(); got != c.want {
			t.Errorf("%q; want %q", got, c.want)
		}
	}
	free, debt := 3*dollar, -dollar
	for want, s := range map[string]budgeting.Standing{
		"All has $3.00 free.": {Name: "All", Hard: true, Free: &free},
		"All has room.":       {Name: "All", Hard: true},
		"All is overspent by $1.00; it is soft and holds nothing.":    {Name: "All", Free: &debt},
		`The budget "All" has $0 free, and the job needs $1. Open it`: {Name: "All", Hard: true, Short: &budgeting.Refusal{Name: "All", Free: "$0", Needed: "$1"}},
	} {
		got, short := jobparts.Room(s)
		if got.String() != want || short != (s.Short != nil) {
			t.Errorf("%q, short %t; want %q", got.String(), short, want)
		}
	}
}
