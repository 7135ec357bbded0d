package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// repairer is what the ledger and the log name as who repairs budgets.
const repairer = "audit"

// BudgetRepair is a budget of which a check found something.
type BudgetRepair struct {
	Workspace string // slug
	Budget    string // name
	Found     []string

	workspace, budget ids.ID
	alarmed           map[time.Time]bool // the periods that something was found of, and whether one was adjusted
}

// BudgetRepairs finds the budgets that Write can put right.
func BudgetRepairs(ctx context.Context, d *db.DB) ([]BudgetRepair, error) {
	workspaces, err := allWorkspaces(ctx, d)
	if err != nil {
		return nil, err
	}
	var list []BudgetRepair
	for _, w := range workspaces {
		var wrong []wrongBudget
		err := d.In(ctx, db.Workspace(w.ID), func(tx db.Tx) (err error) {
			wrong, err = wrongBudgetsTx(ctx, tx, w.ID)
			return err
		}, db.Thorough)
		if err != nil {
			return nil, fmt.Errorf("check the budgets of %s: %w", w.Slug, err)
		}
		list = append(list, groupRepairs(w, wrong)...)
	}
	return list, nil
}

// groupRepairs groups what was found of the budgets of a workspace by budget.
func groupRepairs(w workspace, wrong []wrongBudget) []BudgetRepair {
	slices.SortStableFunc(wrong, func(a, b wrongBudget) int { return slices.Compare(a.budget[:], b.budget[:]) })
	var list []BudgetRepair
	for _, f := range wrong {
		if last := len(list) - 1; last < 0 || list[last].budget != f.budget {
			list = append(list, BudgetRepair{Workspace: w.Slug, Budget: f.name, workspace: w.ID, budget: f.budget,
				alarmed: map[time.Time]bool{}})
		}
		r, start := &list[len(list)-1], f.start.UTC()
		r.Found, r.alarmed[start] = append(r.Found, f.detail), r.alarmed[start] || f.alarmed()
	}
	return list
}

// errNoLedger refuses a budget of which some periods have no ledger to go by.
var errNoLedger = errors.New("a period whose ledger lacks the line that it began with stays as it is")

// Write makes what leases hold of the budget what the ledger says that they have reserved
// and not used, books what belongs to no lease as lines adjust, and makes the sums of its
// periods those of their lines: all in one transaction, in which nobody else changes them.
// It returns what it did; done again it does nothing. A period whose ledger lacks its first
// line stays as it is, with an error.
func (r BudgetRepair) Write(ctx context.Context, d *db.DB) (done []string, err error) {
	var p *moneyPlan
	err = d.In(ctx, db.Workspace(r.workspace), func(tx db.Tx) (err error) {
		if p, err = r.planTx(ctx, tx); err != nil {
			return err
		}
		return r.writeTx(ctx, tx, p)
	}, db.Thorough)
	if err != nil {
		return nil, err
	}
	if p.left {
		err = errNoLedger
	}
	return p.done, err
}

// planTx locks the periods and says what is to be written.
func (r BudgetRepair) planTx(ctx context.Context, tx db.Tx) (*moneyPlan, error) {
	p := &moneyPlan{starts: slices.SortedFunc(maps.Keys(r.alarmed), time.Time.Compare), unheld: map[time.Time]*adjustRow{}}
	var err error
	if p.granted, err = lockPeriodsTx(ctx, tx, r.workspace, r.budget, p.starts); err != nil {
		return nil, err
	}
	list, err := q.BudgetRepairLeases(ctx, tx, r.workspace, r.budget, p.starts)
	if err != nil {
		return nil, err
	}
	lasting, err := lastingTx(ctx, tx, r.workspace, list)
	if err != nil {
		return nil, err
	}
	for _, one := range list {
		p.add(one, lasting[lease{one.JobID, one.Epoch}])
	}
	for _, start := range p.starts {
		p.close(start, r.alarmed[start])
	}
	return p, nil
}

func (r BudgetRepair) writeTx(ctx context.Context, tx db.Tx, p *moneyPlan) error {
	if err := holdTx(ctx, tx, r.workspace, r.budget, p.held); err != nil {
		return err
	}
	if err := adjustTx(ctx, tx, r.workspace, r.budget, p.lines); err != nil {
		return err
	}
	put, err := q.BudgetRepairPeriods(ctx, tx, r.workspace, r.budget, p.starts)
	if err != nil {
		return err
	}
	for _, s := range put {
		p.did(s.PeriodStart, "its sums become those of its ledger: "+off([]sum{
			{"limit in nano-dollars", s.LimitNanos - s.WasLimitNanos}, {"limit in tokens", s.LimitTokens - s.WasLimitTokens},
			{"limit in runs", s.LimitRuns - s.WasLimitRuns}, {"settled nano-dollars", s.SettledNanos - s.WasSettledNanos},
			{"settled tokens", s.SettledTokens - s.WasSettledTokens}, {"runs", s.Runs - s.WasRuns},
			{"reserved nano-dollars", s.ReservedNanos - s.WasReservedNanos}, {"reserved tokens", s.ReservedTokens - s.WasReservedTokens},
		}))
	}
	if len(p.done) == 0 {
		return nil
	}
	return eventlog.RecordTx(ctx, tx, tenancy.System(r.workspace, repairer), eventlog.BudgetRepaired,
		map[string]any{"budget": r.Budget, "budget_id": r.budget, "done": p.done})
}

// moneyPlan is what is written to put a budget right.
type moneyPlan struct {
	starts  []time.Time
	granted map[time.Time]bool // the periods that are there: whether their ledger is whole
	held    []heldRow
	unheld  map[time.Time]*adjustRow // what is reserved of a period for no lease that lasts
	lines   []adjustRow
	done    []string
	left    bool // a period stays as it is
}

func (p *moneyPlan) did(start time.Time, what string) {
	p.done = append(p.done, fmt.Sprintf("%s: %s", start.UTC().Format(time.RFC3339), what))
}

// add plans for one lease: it holds what the ledger says, and nothing where it has ended.
func (p *moneyPlan) add(r reservation, lasts bool) {
	start := r.PeriodStart.UTC()
	whole, there := p.granted[start]
	if there && !whole {
		return
	}
	lasts = lasts && there
	want := heldRow{Start: start, Job: r.JobID, Epoch: r.Epoch, Lasts: lasts}
	if lasts {
		want.Nanos, want.Tokens = max(r.Nanos, 0), max(r.Tokens, 0)
		if short := (adjustRow{Start: start, Takes: true, Nanos: want.Nanos - r.Nanos, Tokens: want.Tokens - r.Tokens, Job: &r.JobID,
			Epoch: &r.Epoch}); short.Nanos > 0 || short.Tokens > 0 {
			p.lines = append(p.lines, short)
		}
	} else if there {
		u := p.unheld[start]
		if u == nil {
			u = &adjustRow{}
			p.unheld[start] = u
		}
		u.Nanos, u.Tokens = u.Nanos+r.Nanos, u.Tokens+r.Tokens
	}
	changes := r.Holds != lasts || want.Nanos != r.HeldNanos || want.Tokens != r.HeldTokens
	if changes && (r.Holds || want.Nanos+want.Tokens > 0) {
		p.held = append(p.held, want)
		p.did(start, fmt.Sprintf("job %s, epoch %d, held %s and %d tokens and holds %s and %d", r.JobID, r.Epoch,
			spend.Nanos(r.HeldNanos).Exact(), r.HeldTokens, spend.Nanos(want.Nanos).Exact(), want.Tokens))
	}
}

// close plans the lines of a period for what belongs to no lease, and one that answers the
// alarm of an adjustment.
func (p *moneyPlan) close(start time.Time, alarmed bool) {
	if whole, there := p.granted[start]; !whole {
		p.left = p.left || there
		return
	}
	u := p.unheld[start]
	if u == nil {
		u = &adjustRow{}
	}
	takes := adjustRow{Start: start, Takes: true, Nanos: max(-u.Nanos, 0), Tokens: max(-u.Tokens, 0)}
	gives := adjustRow{Start: start, Nanos: max(u.Nanos, 0), Tokens: max(u.Tokens, 0)}
	if takes.Nanos > 0 || takes.Tokens > 0 {
		p.lines = append(p.lines, takes)
		p.did(start, fmt.Sprintf("%s and %d tokens were freed that nobody held", spend.Nanos(takes.Nanos).Exact(), takes.Tokens))
	}
	if gives.Nanos > 0 || gives.Tokens > 0 || alarmed {
		p.lines = append(p.lines, gives)
		p.did(start, fmt.Sprintf("%s and %d tokens go back to what is free", spend.Nanos(gives.Nanos).Exact(), gives.Tokens))
	}
}
