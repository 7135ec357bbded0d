package budgets

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Adjustment is what leases held of a period beyond what it had reserved. A line of its own
// has booked it, so that the leases could end.
type Adjustment struct {
	Budget ids.ID
	Name   string
	Start  time.Time // of the period
	Money  spend.Nanos
	Tokens int64
}

// AdjustedTx reports adjustments: something was booked wrong before them.
func AdjustedTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Adjustment) error {
	for _, a := range list {
		err := eventlog.RecordTx(ctx, tx, tenancy.System(workspace, loop), eventlog.BudgetAdjusted, map[string]any{"budget": a.Name,
			"budget_id": a.Budget, "period_start": a.Start, "amount_usd": a.Money.Fixed(), "tokens": a.Tokens})
		if err != nil {
			return err
		}
	}
	return nil
}
