package budgets

import (
	"context"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// line is one that changes what a period may spend.
type line struct {
	Amounts

	budget   ids.ID
	start    time.Time
	kind     Kind
	other    ids.ID
	reverses int64
	until    time.Time // zero for none
}

// linesTx writes lines and returns their ids.
func linesTx(ctx context.Context, tx db.Tx, who tenancy.Principal, reason string, lines []line) ([]int64, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	p := dbsqlc.BudgetLinesAddParams{WorkspaceID: who.Workspace, Reason: reason, Actor: who.Name}
	for _, l := range lines {
		if l.until.IsZero() {
			l.until = Forever
		}
		p.BudgetIds, p.Starts, p.Kinds = append(p.BudgetIds, l.budget), append(p.Starts, l.start), append(p.Kinds, string(l.kind))
		p.Takes = append(p.Takes, l.kind == Expired || l.kind == TransferredOut)
		p.Nanos, p.Tokens, p.Runs = append(p.Nanos, int64(l.Money)), append(p.Tokens, l.Tokens), append(p.Runs, l.Runs)
		p.OtherBudgetIds, p.Reverses = append(p.OtherBudgetIds, l.other), append(p.Reverses, l.reverses)
		p.Untils = append(p.Untils, l.until)
	}
	return q.BudgetLinesAdd(ctx, tx, p)
}

// limitsTx keeps the limits of the periods at hand.
func limitsTx(ctx context.Context, tx db.Tx, workspace ids.ID, list ...Budget) error {
	p := dbsqlc.BudgetLimitsSaveParams{WorkspaceID: workspace}
	number := func(n *int64) int64 {
		if n == nil {
			return -1
		}
		return *n
	}
	for _, b := range list {
		p.BudgetIds, p.Starts = append(p.BudgetIds, b.ID), append(p.Starts, b.State.Start)
		p.Nanos, p.Tokens = append(p.Nanos, number(nanos(b.State.Money))), append(p.Tokens, number(b.State.Tokens))
		p.Runs = append(p.Runs, number(b.State.Runs))
	}
	return q.BudgetLimitsSave(ctx, tx, p)
}

func ledgerTx(ctx context.Context, tx db.Tx, workspace, budget ids.ID, query LedgerQuery, limit int) ([]Line, error) {
	kinds := make([]string, len(query.Kinds))
	for i, kind := range query.Kinds {
		kinds[i] = string(kind)
	}
	rows, err := q.BudgetLedger(ctx, tx, dbsqlc.BudgetLedgerParams{WorkspaceID: workspace, BudgetID: budget, Before: query.Before,
		Kinds: kinds, MaxRows: limit})
	return db.Map(rows, err, func(r dbsqlc.BudgetLedgerRow) Line {
		return Line{Amounts: Amounts{Money: spend.Nanos(r.Nanos), Tokens: r.Tokens, Runs: r.Runs}, ID: r.ID, PeriodStart: r.PeriodStart,
			Kind: Kind(r.Kind), From: Account(r.FromAccount), To: Account(r.ToAccount), UnpricedTokens: r.UnpricedTokens,
			JobID: orNil(r.JobID), JobKey: r.JobKey, Epoch: orZero(r.Epoch), Entry: r.Entry, Other: orNil(r.OtherBudgetID),
			OtherName: r.Other, Reverses: orZero(r.Reverses), Until: r.Until, Reason: r.Reason, Actor: r.Actor, At: r.At}
	})
}

// storedTx reads at most so many lines of a period from one on, the newest first.
func storedTx(
	ctx context.Context, tx db.Tx, workspace, budget ids.ID, start time.Time, only []Kind, from int64, most int,
) ([]stored, error) {
	kinds := make([]string, len(only))
	for i, kind := range only {
		kinds[i] = string(kind)
	}
	rows, err := q.BudgetPeriodLines(ctx, tx, dbsqlc.BudgetPeriodLinesParams{WorkspaceID: workspace, BudgetID: budget, PeriodStart: start,
		Upto: from, Kinds: kinds, MaxRows: most})
	return db.Map(rows, err, func(r dbsqlc.BudgetPeriodLinesRow) stored {
		l := stored{agent: r.Agent, Line: Line{Amounts: Amounts{Money: spend.Nanos(r.Nanos), Tokens: r.Tokens, Runs: r.Runs}, ID: r.ID,
			PeriodStart: start, Kind: Kind(r.Kind), From: Account(r.FromAccount), To: Account(r.ToAccount), JobID: orNil(r.JobID),
			UnpricedTokens: r.UnpricedTokens, JobKey: r.JobKey, Epoch: orZero(r.Epoch), Entry: r.Entry, Other: orNil(r.OtherBudgetID),
			OtherName: r.Other, Reverses: orZero(r.Reverses), Until: r.Until, Reason: r.Reason, Actor: r.Actor, At: r.At}}
		for i, entry := range r.Entries {
			one := share{entry: entry, Amounts: Amounts{Money: spend.Nanos(r.EntryNanos[i]), Tokens: r.EntryTokens[i]}}
			if i < len(r.EntryUnpriced) {
				one.unpriced = r.EntryUnpriced[i]
			}
			l.entries = append(l.entries, one)
		}
		return l
	})
}

// modelsTx says of rows which models their entries were of.
func modelsTx(ctx context.Context, tx db.Tx, workspace ids.ID, rows []Row) error {
	type key struct {
		job   ids.ID
		entry string
	}
	var (
		in    []ids.ID
		named []string
	)
	for _, r := range rows {
		if r.Entry != "" && r.JobID != ids.Nil {
			in, named = append(in, r.JobID), append(named, r.Entry)
		}
	}
	if len(in) == 0 {
		return nil
	}
	found, err := q.UsageModels(ctx, tx, in, named, workspace)
	if err != nil {
		return err
	}
	models := make(map[key]dbsqlc.UsageModelsRow, len(found))
	for _, m := range found {
		models[key{m.JobID, m.ID}] = m
	}
	for i, r := range rows {
		m := models[key{r.JobID, r.Entry}]
		rows[i].Provider, rows[i].Model = m.Provider, m.Model
	}
	return nil
}

func orZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// lineTx reads one line of a budget. NotFound.
func lineTx(ctx context.Context, tx db.Tx, workspace, budget ids.ID, id int64) (past, error) {
	r, err := q.BudgetLine(ctx, tx, workspace, budget, id)
	if found, err := db.Found(err); err != nil {
		return past{}, fmt.Errorf("read a line: %w", err)
	} else if !found {
		return past{}, fault.New(fault.NotFound, "The budget has no such line.")
	}
	return past{start: r.PeriodStart, kind: Kind(r.Kind), amount: spend.Nanos(r.Nanos), other: orNil(r.OtherBudgetID),
		at: r.At, reversed: r.Reversed}, nil
}

func keepRaiseTx(ctx context.Context, tx db.Tx, workspace ids.ID, id int64, l line, until *time.Time) error {
	return q.BudgetRaiseAdd(ctx, tx, dbsqlc.BudgetRaiseAddParams{WorkspaceID: workspace, Line: id, BudgetID: l.budget, PeriodStart: l.start,
		Nanos: int64(l.Money), Until: until})
}

// ended is a raise that goes back.
type ended struct {
	window

	line int64
}

func dueTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]ended, error) {
	rows, err := q.BudgetRaisesDue(ctx, tx, workspace)
	return db.Map(rows, err, func(r dbsqlc.BudgetRaisesDueRow) ended {
		return ended{window: window{budget: r.BudgetID, start: r.PeriodStart}, line: r.Line}
	})
}

func raiseLeftTx(ctx context.Context, tx db.Tx, workspace ids.ID, id int64) (spend.Nanos, error) {
	n, err := q.BudgetRaiseLeft(ctx, tx, workspace, id)
	if err != nil {
		return 0, err
	}
	return spend.Nanos(n), nil
}
