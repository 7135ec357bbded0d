package handlertest

import (
	"time"

	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Use reports the usage of a message under the lease, without a cost where that is "".
func (w *Workspace) Use(agent tenancy.Principal, lease lease.Ref, id, cost string, input int64) {
	w.t.Helper()
	e := spend.Entry{ID: id, Provider: "house", Model: "sonnet", Input: input, Output: 1234, CacheRead: 50_000,
		CostUSD: &cost, At: time.Now()}
	if cost == "" {
		e.CostUSD = nil
	}
	answers, err := w.OtherProcess.RecordUsage(w.t.Context(), agent, []report.UsageLine{{Lease: lease, Entry: e}})
	if err != nil || answers[0].Outcome != spend.Recorded {
		w.t.Fatal(answers, err)
	}
}
