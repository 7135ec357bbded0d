package handlertest

import (
	"time"

	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Use reports the usage of a message under the lease, without a cost where that is "".
func (d *Desk) Use(agent tenancy.Principal, lease lease.Ref, id, cost string, input int64) {
	d.t.Helper()
	e := spend.Entry{ID: id, Provider: "house", Model: "sonnet", Input: input, Output: 1234, CacheRead: 50_000,
		CostUSD: &cost, At: time.Now()}
	if cost == "" {
		e.CostUSD = nil
	}
	answers, err := d.Elsewhere.RecordUsage(d.t.Context(), agent, []report.UsageLine{{Lease: lease, Entry: e}})
	if err != nil || answers[0].Outcome != spend.Recorded {
		d.t.Fatal(answers, err)
	}
}
