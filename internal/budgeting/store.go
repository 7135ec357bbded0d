package budgeting

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
)

var q = dbsqlc.New()

// Active says what budgets a workspace has.
type Active struct {
	Any bool
	// HoldsUnpriced: one of them holds models without a price.
	HoldsUnpriced bool
	// NamesModels: one does, and some product names models for tiers.
	NamesModels bool
}

// ActiveTx reads what budgets a workspace has.
func ActiveTx(ctx context.Context, tx db.Tx, workspace ids.ID) (Active, error) {
	r, err := q.BudgetsActive(ctx, tx, workspace)
	if err != nil {
		return Active{}, err
	}
	return Active{r.Active, r.HoldsUnpriced, r.NamesModels}, nil
}

// covered is jobs with the budgets that they count for, and when they were read.
type covered struct {
	asks    map[ids.ID]*ask
	budgets []*budget // in the order in which all lock
	now     time.Time
}

// coveredTx reads the budgets that jobs count for, without the state of their periods.
func coveredTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID) (covered, error) {
	c := covered{asks: map[ids.ID]*ask{}}
	rows, err := q.BudgetsOfJobs(ctx, tx, jobs, workspace)
	if err != nil {
		return c, err
	}
	for _, r := range rows {
		c.now = r.Now
		last := len(c.budgets) - 1
		if last < 0 || c.budgets[last].id != r.BudgetID {
			b := &budget{id: r.BudgetID, name: r.Name, hard: r.Hard, slice: spend.Nanos(r.SliceNanos), sliceTokens: r.SliceTokens,
				alertAt: r.AlertAt, throttledBelow: r.ThrottledBelow}
			if err := b.setPeriod(r.Period, r.Timezone, r.Now); err != nil {
				return c, err
			}
			c.budgets = append(c.budgets, b)
			last++
		}
		a := c.asks[r.JobID]
		if a == nil {
			a = &ask{job: r.JobID, epoch: r.Epoch + 1, priority: r.Priority}
			c.asks[r.JobID] = a
		}
		a.budgets = append(a.budgets, c.budgets[last])
	}
	return c, nil
}

// periodKey names a period of a budget; its start is in UTC.
type periodKey struct {
	budget ids.ID
	start  time.Time
}

func (k periodKey) compare(other periodKey) int {
	return cmp.Or(slices.Compare(k.budget[:], other.budget[:]), k.start.Compare(other.start))
}

// periods are how those that are open stand.
type periods map[periodKey]budgets.State

// periodTx fills in how the periods of an instant stand, and opens those that nobody has
// opened yet. With lock nobody else changes them until the transaction ends.
func periodTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []*budget, at time.Time, lock bool) error {
	states, err := periodsTx(ctx, tx, workspace, list, []time.Time{at}, lock)
	if err != nil {
		return err
	}
	for _, b := range list {
		start, end := b.bounds(at)
		b.state = budgets.State{Start: start, End: end}
		if s, open := states[periodKey{b.id, start.UTC()}]; open {
			b.state = s
		}
	}
	return nil
}

// periodsTx reads how the periods of budgets stand in which instants lie. With lock it opens
// those that nobody has opened yet, and nobody else changes any of them until the
// transaction ends.
func periodsTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []*budget, instants []time.Time, lock bool) (periods, error) {
	wanted := map[periodKey]time.Time{} // an instant of each
	for _, at := range instants {
		for _, b := range list {
			start, _ := b.bounds(at)
			wanted[periodKey{b.id, start.UTC()}] = at
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	keys := slices.SortedFunc(maps.Keys(wanted), periodKey.compare)
	states, err := statesTx(ctx, tx, workspace, keys, lock)
	if err != nil || len(states) == len(keys) || !lock {
		return states, err
	}
	missing := map[time.Time][]ids.ID{}
	for _, key := range keys {
		if _, open := states[key]; !open {
			missing[wanted[key]] = append(missing[wanted[key]], key.budget)
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(missing), time.Time.Compare) {
		if _, err := budgets.OpenTx(ctx, tx, workspace, missing[at], at); err != nil {
			return nil, err
		}
	}
	return statesTx(ctx, tx, workspace, keys, lock)
}

// statesTx reads those of the periods that are open.
func statesTx(ctx context.Context, tx db.Tx, workspace ids.ID, keys []periodKey, lock bool) (periods, error) {
	named, starts := make([]ids.ID, len(keys)), make([]time.Time, len(keys))
	for i, key := range keys {
		named[i], starts[i] = key.budget, key.start
	}
	var rows []dbsqlc.BudgetPeriodsLockRow
	var err error
	if lock {
		rows, err = q.BudgetPeriodsLock(ctx, tx, named, starts, workspace)
	} else {
		var read []dbsqlc.BudgetPeriodsRow
		read, err = q.BudgetPeriods(ctx, tx, named, starts, workspace)
		for _, r := range read {
			rows = append(rows, dbsqlc.BudgetPeriodsLockRow(r))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read periods: %w", err)
	}
	states := make(periods, len(rows))
	for _, r := range rows {
		states[periodKey{r.BudgetID, r.PeriodStart.UTC()}] = budgets.State{Start: r.PeriodStart, End: r.PeriodEnd,
			UnpricedTokens: r.UnpricedTokens,
			Limits:         budgets.Limits{Money: (*spend.Nanos)(r.LimitNanos), Tokens: r.LimitTokens, Runs: r.LimitRuns},
			Settled:        budgets.Amounts{Money: spend.Nanos(r.SettledNanos), Tokens: r.SettledTokens, Runs: r.Runs},
			Reserved:       budgets.Amounts{Money: spend.Nanos(r.ReservedNanos), Tokens: r.ReservedTokens}}
	}
	return states, nil
}

// reserveTx writes what leases have reserved.
func reserveTx(ctx context.Context, tx db.Tx, workspace ids.ID, grants []Grant) error {
	type row struct {
		Job    ids.ID    `json:"job_id"`
		Epoch  int64     `json:"epoch"`
		Budget ids.ID    `json:"budget_id"`
		Start  time.Time `json:"period_start"`
		Nanos  int64     `json:"nanos"`
		Tokens int64     `json:"tokens"`
	}
	var rows []row
	for _, g := range grants {
		for _, s := range g.slices {
			rows = append(rows, row{Job: g.Job, Epoch: g.epoch, Budget: s.budget.id, Start: s.budget.state.Start, Nanos: int64(s.nanos),
				Tokens: s.tokens})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("encode reservations: %w", err)
	}
	return q.BudgetReserve(ctx, tx, workspace, encoded)
}

// FreeTx frees what ended leases have reserved and not used. Where they have reserved
// nothing it changes nothing. What they held beyond what was reserved is returned, for
// budgets.AdjustedTx.
func FreeTx(ctx context.Context, tx db.Tx, workspace ids.ID, leases []spend.Lease) ([]budgets.Adjustment, error) {
	in, epochs := spend.SplitLeases(leases)
	rows, err := q.BudgetFree(ctx, tx, workspace, in, epochs)
	return db.Map(rows, err, func(r dbsqlc.BudgetFreeRow) budgets.Adjustment {
		return budgets.Adjustment{Budget: r.BudgetID, Name: r.Name, Start: r.PeriodStart, Money: spend.Nanos(r.OverNanos),
			Tokens: r.OverTokens}
	})
}

// heldTx are jobs that wait for a budget and that no hard one is short for by itself, the
// most urgent first.
func heldTx(ctx context.Context, tx db.Tx, workspace ids.ID, most int) ([]ids.ID, error) {
	return q.JobsHeldByBudget(ctx, tx, workspace, most)
}
