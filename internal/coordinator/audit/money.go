package audit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// The checks of budgets.
const (
	ledgerCheck      = "ledger"
	reservedCheck    = "reserved"
	reservationCheck = "reservation"
	adjustedCheck    = "adjusted"
)

var budgetChecks = []Check{
	{Name: ledgerCheck, About: "the limit, the settled, the reserved and the runs of a budget's period are the sums of its ledger"},
	{Name: reservedCheck, About: "what a budget has reserved is what leases hold of it"},
	{Name: reservationCheck, About: "a lease holds something of a budget only while it lasts"},
	{Name: adjustedCheck, About: "leases have ended with no more than was reserved for them, since audit --repair"},
}

// budgets checks the sums of a workspace's budgets.
func (r *Report) budgets(ctx context.Context, tx db.Tx, w workspace) error {
	wrong, err := wrongBudgetsTx(ctx, tx, w.ID)
	for _, f := range wrong {
		r.note(f.check, w.Slug, f.job, f.detail)
	}
	return err
}

// wrongBudget is what a check has found of a budget.
type wrongBudget struct {
	budget             ids.ID
	name               string
	start              time.Time // of the period
	check, job, detail string
}

// wrongBudgetsTx checks the budgets of a workspace.
func wrongBudgetsTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]wrongBudget, error) {
	var list []wrongBudget
	for _, check := range []func(context.Context, db.Tx, ids.ID) ([]wrongBudget, error){wrongSumsTx, wrongReservedTx, leftTx, adjustedTx} {
		found, err := check(ctx, tx, workspace)
		if list = append(list, found...); err != nil {
			return list, err
		}
	}
	return list, nil
}

// alarmed reports whether the check found that a period had to be adjusted.
func (w wrongBudget) alarmed() bool { return w.check == adjustedCheck }

// off says which of several sums differ, and by how much.
func off(sums []sum) string {
	var list []string
	for _, s := range sums {
		if s.by != 0 {
			list = append(list, fmt.Sprintf("%s by %+d", s.name, s.by))
		}
	}
	return strings.Join(list, ", ")
}

// sum is one of the sums of a period, and how much larger it is than it should be.
type sum struct {
	name string
	by   int64
}

// period names a period of a budget.
func period(budget string, start time.Time) string {
	return fmt.Sprintf("the period of %s from %s", budget, start.UTC().Format(time.RFC3339))
}
