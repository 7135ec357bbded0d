package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

func wrongSumsTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]wrongBudget, error) {
	rows, err := q.AuditBudgetSums(ctx, tx, workspace)
	return db.Map(rows, err, func(s dbsqlc.AuditBudgetSumsRow) wrongBudget {
		return wrongBudget{budget: s.BudgetID, name: s.Name, start: s.PeriodStart, check: ledgerCheck,
			detail: period(s.Name, s.PeriodStart) + " differs from its ledger: " + off([]sum{
				{"limit in nano-dollars", s.LimitNanos}, {"limit in tokens", s.LimitTokens}, {"limit in runs", s.LimitRuns},
				{"settled nano-dollars", s.SettledNanos}, {"settled tokens", s.SettledTokens}, {"reserved nano-dollars", s.ReservedNanos},
				{"reserved tokens", s.ReservedTokens}, {"runs", s.Runs},
			})}
	})
}

func wrongReservedTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]wrongBudget, error) {
	rows, err := q.AuditBudgetReserved(ctx, tx, workspace)
	return db.Map(rows, err, func(p dbsqlc.AuditBudgetReservedRow) wrongBudget {
		return wrongBudget{budget: p.BudgetID, name: p.Name, start: p.PeriodStart, check: reservedCheck,
			detail: fmt.Sprintf("%s has %d nano-dollars and %d tokens reserved, leases hold %d and %d",
				period(p.Name, p.PeriodStart), p.ReservedNanos, p.ReservedTokens, p.HeldNanos, p.HeldTokens)}
	})
}

func leftTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]wrongBudget, error) {
	rows, err := q.AuditBudgetLeft(ctx, tx, workspace)
	if err != nil {
		return nil, err
	}
	list := make([]wrongBudget, len(rows))
	for i, l := range rows {
		list[i] = wrongBudget{budget: l.BudgetID, name: l.Name, start: l.PeriodStart, check: reservationCheck, job: l.JobID.String(),
			detail: fmt.Sprintf("its lease of epoch %d has ended and holds something of %s", l.Epoch, l.Name)}
		if l.NoPeriod {
			list[i].detail = fmt.Sprintf("its lease of epoch %d holds something of %s, which is not there",
				l.Epoch, period(l.Name, l.PeriodStart))
		}
	}
	return list, nil
}

func adjustedTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]wrongBudget, error) {
	rows, err := q.AuditBudgetAdjusted(ctx, tx, workspace)
	return db.Map(rows, err, func(a dbsqlc.AuditBudgetAdjustedRow) wrongBudget {
		return wrongBudget{budget: a.BudgetID, name: a.Name, start: a.PeriodStart, check: adjustedCheck,
			detail: fmt.Sprintf("leases held %d nano-dollars and %d tokens more of %s than it had reserved", a.Nanos, a.Tokens,
				period(a.Name, a.PeriodStart))}
	})
}

// lockPeriodsTx locks a budget and those of its periods, and says of each that is there whether its ledger has the
// line that it began with.
func lockPeriodsTx(ctx context.Context, tx db.Tx, workspace, budget ids.ID, starts []time.Time) (map[time.Time]bool, error) {
	rows, err := q.BudgetRepairLock(ctx, tx, workspace, starts, budget)
	if err != nil {
		return nil, err
	}
	granted := make(map[time.Time]bool, len(rows))
	for _, r := range rows {
		granted[r.PeriodStart.UTC()] = r.Granted
	}
	return granted, nil
}

// reservation is what a lease has reserved of a period by the ledger, and what it holds.
type reservation = dbsqlc.BudgetRepairLeasesRow

// lease names one of a job.
type lease struct {
	job   ids.ID
	epoch int64
}

// lastingTx returns those of the leases that last, and now do until the transaction ends.
func lastingTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []reservation) (map[lease]bool, error) {
	var (
		in     []ids.ID
		epochs []int64
	)
	for _, r := range list {
		in, epochs = append(in, r.JobID), append(epochs, r.Epoch)
	}
	rows, err := q.BudgetLeasesHold(ctx, tx, workspace, in, epochs)
	if err != nil {
		return nil, err
	}
	lasting := make(map[lease]bool, len(rows))
	for _, r := range rows {
		lasting[lease{r.JobID, r.Epoch}] = true
	}
	return lasting, nil
}

// heldRow is what a lease is to hold of a period.
type heldRow struct {
	Start  time.Time `json:"period_start"`
	Job    ids.ID    `json:"job_id"`
	Epoch  int64     `json:"epoch"`
	Nanos  int64     `json:"nanos"`
	Tokens int64     `json:"tokens"`
	Lasts  bool      `json:"lasts"` // else it holds nothing
}

func holdTx(ctx context.Context, tx db.Tx, workspace, budget ids.ID, rows []heldRow) error {
	if len(rows) == 0 {
		return nil
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("encode reservations: %w", err)
	}
	return q.BudgetRepairReservations(ctx, tx, workspace, budget, encoded)
}

// adjustRow is a line adjust.
type adjustRow struct {
	Start  time.Time `json:"period_start"`
	Takes  bool      `json:"takes"` // from what is free
	Nanos  int64     `json:"nanos"`
	Tokens int64     `json:"tokens"`
	Job    *ids.ID   `json:"job_id"`
	Epoch  *int64    `json:"epoch"`
}

func adjustTx(ctx context.Context, tx db.Tx, workspace, budget ids.ID, lines []adjustRow) error {
	if len(lines) == 0 {
		return nil
	}
	encoded, err := json.Marshal(lines)
	if err != nil {
		return fmt.Errorf("encode lines: %w", err)
	}
	return q.BudgetRepairLines(ctx, tx, dbsqlc.BudgetRepairLinesParams{WorkspaceID: workspace, BudgetID: budget, Lines: encoded,
		Reason: "Put right by fleetboard audit --repair.", Actor: repairer})
}
