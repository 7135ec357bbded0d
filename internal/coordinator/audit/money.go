package audit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fleetboard/db"
)

// The checks of budgets.
const (
	ledgerCheck      = "ledger"
	reservedCheck    = "reserved"
	reservationCheck = "reservation"
)

var budgetChecks = []Check{
	{Name: ledgerCheck, About: "the limit, the settled, the reserved and the runs of a budget's period are the sums of its ledger"},
	{Name: reservedCheck, About: "what a budget has reserved is what leases hold of it"},
	{Name: reservationCheck, About: "a lease holds something of a budget only while it lasts"},
}

// budgets checks the sums of a workspace's budgets.
func (r *Report) budgets(ctx context.Context, tx db.Tx, w workspace) error {
	sums, err := q.AuditBudgetSums(ctx, tx, w.ID)
	if err != nil {
		return fmt.Errorf("sums of budgets: %w", err)
	}
	for _, s := range sums {
		var off []string
		for _, sum := range []struct {
			name string
			by   int64
		}{
			{"limit in nano-dollars", s.LimitNanos}, {"limit in tokens", s.LimitTokens}, {"limit in runs", s.LimitRuns},
			{"settled nano-dollars", s.SettledNanos}, {"settled tokens", s.SettledTokens}, {"reserved nano-dollars", s.ReservedNanos},
			{"reserved tokens", s.ReservedTokens}, {"runs", s.Runs},
		} {
			if sum.by != 0 {
				off = append(off, fmt.Sprintf("%s by %+d", sum.name, sum.by))
			}
		}
		r.note(ledgerCheck, w.Slug, "", period(s.Name, s.PeriodStart)+" differs from its ledger: "+strings.Join(off, ", "))
	}
	reserved, err := q.AuditBudgetReserved(ctx, tx, w.ID)
	if err != nil {
		return fmt.Errorf("what budgets reserved: %w", err)
	}
	for _, p := range reserved {
		r.note(reservedCheck, w.Slug, "", fmt.Sprintf("%s has %d nano-dollars and %d tokens reserved, leases hold %d and %d",
			period(p.Name, p.PeriodStart), p.ReservedNanos, p.ReservedTokens, p.HeldNanos, p.HeldTokens))
	}
	left, err := q.AuditBudgetLeft(ctx, tx, w.ID)
	if err != nil {
		return fmt.Errorf("reservations: %w", err)
	}
	for _, l := range left {
		r.note(reservationCheck, w.Slug, l.JobID.String(),
			fmt.Sprintf("its lease of epoch %d has ended and holds something of %s", l.Epoch, l.Name))
	}
	return nil
}

// period names a period of a budget.
func period(budget string, start time.Time) string {
	return fmt.Sprintf("the period of %s from %s", budget, start.UTC().Format(time.RFC3339))
}
