package api

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
)

// budgetHandlers answer the calls about budgets.
type budgetHandlers struct{ *Deps }

// budgetID reads the id of a budget. NotFound for what is none.
func budgetID(text string) (ids.ID, error) {
	id, ok := ids.Parse(text)
	if !ok {
		return ids.Nil, fault.New(fault.NotFound, "There is no such budget in this workspace.")
	}
	return id, nil
}

// ListBudgets gives all budgets, by name.
func (s *budgetHandlers) ListBudgets(ctx context.Context, _ ListBudgetsRequestObject) (ListBudgetsResponseObject, error) {
	list, err := s.Budgets.List(ctx, principal(ctx))
	return ListBudgets200JSONResponse{Items: mapSlice(list, budgetModel)}, err
}

// CreateBudget makes a budget.
func (s *budgetHandlers) CreateBudget(ctx context.Context, r CreateBudgetRequestObject) (CreateBudgetResponseObject, error) {
	limit, slice, err := parseAmounts(r.Body.LimitUSD, r.Body.SliceUSD)
	if err != nil {
		return nil, err
	}
	in := budgets.Input{Name: r.Body.Name, Scope: budgets.Scope(r.Body.Scope), Product: value(r.Body.Product), Phase: value(r.Body.Phase),
		Job: value(r.Body.Job), Period: budgets.Period(r.Body.Period), Timezone: value(r.Body.Timezone),
		Limits: budgets.Limits{Money: limit, Tokens: r.Body.LimitTokens, Runs: r.Body.LimitRuns}, Hard: r.Body.Hard == nil || *r.Body.Hard,
		Slice: slice, SliceTokens: r.Body.SliceTokens, AlertAt: value(r.Body.AlertAt), Throttle: value(r.Body.Throttle),
		Unpriced: budgets.Unpriced(value(r.Body.Unpriced)), Once: callFrom(ctx).once}
	made, err := s.Budgets.Create(ctx, principal(ctx), in)
	return CreateBudget201JSONResponse(budgetModel(made)), err
}

// GetBudget reads one budget.
func (s *budgetHandlers) GetBudget(ctx context.Context, r GetBudgetRequestObject) (GetBudgetResponseObject, error) {
	id, err := budgetID(r.Budget)
	if err != nil {
		return nil, err
	}
	b, err := s.Budgets.Get(ctx, principal(ctx), id)
	return GetBudget200JSONResponse(budgetModel(b)), err
}

// PatchBudget edits a budget.
func (s *budgetHandlers) PatchBudget(ctx context.Context, r PatchBudgetRequestObject) (PatchBudgetResponseObject, error) {
	id, err := budgetID(r.Budget)
	if err != nil {
		return nil, err
	}
	limit, slice, err := parseAmounts(r.Body.LimitUSD, r.Body.SliceUSD)
	if err != nil {
		return nil, err
	}
	cleared := nullFields(callFrom(ctx).body)
	sets := func(field string, given bool) bool { return given || slices.Contains(cleared, field) }
	b, err := s.Budgets.Change(ctx, principal(ctx), id, budgets.Patch{Version: r.Body.Version, Name: r.Body.Name,
		Money:  budgets.Ceiling[spend.Nanos]{Set: sets("limit_usd", limit != nil), Value: limit},
		Tokens: budgets.Ceiling[int64]{Set: sets("limit_tokens", r.Body.LimitTokens != nil), Value: r.Body.LimitTokens},
		Runs:   budgets.Ceiling[int64]{Set: sets("limit_runs", r.Body.LimitRuns != nil), Value: r.Body.LimitRuns},
		Hard:   r.Body.Hard, Slice: slice, SliceTokens: r.Body.SliceTokens, AlertAt: r.Body.AlertAt, Throttle: r.Body.Throttle,
		Unpriced: (*budgets.Unpriced)(r.Body.Unpriced)})
	return PatchBudget200JSONResponse(budgetModel(b)), err
}

// DeleteBudget removes a budget.
func (s *budgetHandlers) DeleteBudget(ctx context.Context, r DeleteBudgetRequestObject) (DeleteBudgetResponseObject, error) {
	id, err := budgetID(r.Budget)
	if err != nil {
		return nil, err
	}
	return DeleteBudget204Response{}, s.Budgets.Remove(ctx, principal(ctx), id)
}

// TransferBudget moves money from one budget to another.
func (s *budgetHandlers) TransferBudget(ctx context.Context, r TransferBudgetRequestObject) (TransferBudgetResponseObject, error) {
	id, err := budgetID(r.Budget)
	if err != nil {
		return nil, err
	}
	to, ok := ids.Parse(r.Body.To)
	if !ok {
		return nil, fault.Invalid("to", "It must be the id of a budget.")
	}
	amount, err := spend.ParseAmount("amount_usd", r.Body.AmountUSD, spend.MaxAmount)
	if err != nil {
		return nil, err
	}
	moved, err := s.Budgets.Transfer(ctx, principal(ctx), id, budgets.Transfer{To: to, Amount: amount,
		Reason: value(r.Body.Reason), Once: callFrom(ctx).once})
	return TransferBudget200JSONResponse(budgetModel(moved.Budget)), err
}

// RaiseBudget gives a budget more money.
func (s *budgetHandlers) RaiseBudget(ctx context.Context, r RaiseBudgetRequestObject) (RaiseBudgetResponseObject, error) {
	id, err := budgetID(r.Budget)
	if err != nil {
		return nil, err
	}
	amount, err := spend.ParseAmount("amount_usd", r.Body.AmountUSD, spend.MaxAmount)
	if err != nil {
		return nil, err
	}
	moved, err := s.Budgets.Raise(ctx, principal(ctx), id, budgets.Raise{Amount: amount, Until: r.Body.Until,
		Reason: value(r.Body.Reason), Once: callFrom(ctx).once})
	return RaiseBudget200JSONResponse(budgetModel(moved.Budget)), err
}

// UndoBudgetLine takes a raise or a transfer back.
func (s *budgetHandlers) UndoBudgetLine(ctx context.Context, r UndoBudgetLineRequestObject) (UndoBudgetLineResponseObject, error) {
	id, err := budgetID(r.Budget)
	if err != nil {
		return nil, err
	}
	b, err := s.Budgets.Undo(ctx, principal(ctx), id, r.Body.Line, callFrom(ctx).once)
	return UndoBudgetLine200JSONResponse(budgetModel(b)), err
}

// ListBudgetLines gives a page of a budget's ledger, newest first.
func (s *budgetHandlers) ListBudgetLines(ctx context.Context, r ListBudgetLinesRequestObject) (ListBudgetLinesResponseObject, error) {
	id, err := budgetID(r.Budget)
	if err != nil {
		return nil, err
	}
	var before int64
	if cursor := value(r.Params.Cursor); cursor != "" {
		if before, err = strconv.ParseInt(cursor, 10, 64); err != nil || before < 1 {
			return nil, fault.Invalid("cursor", "It must be one that this server gave out.")
		}
	}
	lines, last, err := s.Budgets.Ledger(ctx, principal(ctx), id, budgets.LedgerQuery{Before: before, Limit: limit(r.Params.Limit)})
	next := ""
	if last > 0 {
		next = strconv.FormatInt(last, 10)
	}
	return ListBudgetLines200JSONResponse{Items: mapSlice(lines, budgetLineModel), NextCursor: next}, err
}

// GetBudgetSeries returns how the present period came about.
func (s *budgetHandlers) GetBudgetSeries(ctx context.Context, r GetBudgetSeriesRequestObject) (GetBudgetSeriesResponseObject, error) {
	id, err := budgetID(r.Budget)
	if err != nil {
		return nil, err
	}
	bucket := budgets.Daily
	if r.Params.Bucket != nil {
		bucket = budgets.Bucket(*r.Params.Bucket)
	}
	series, err := s.Budgets.Series(ctx, principal(ctx), id, bucket)
	return GetBudgetSeries200JSONResponse(seriesModel(series)), err
}

// parseAmounts reads a limit and a slice; nil for what is not there.
func parseAmounts(limit, slice *string) (most, each *spend.Nanos, err error) {
	read := func(field string, text *string) *spend.Nanos {
		if text == nil || err != nil {
			return nil
		}
		var n spend.Nanos
		n, err = spend.ParseAmount(field, *text, spend.MaxAmount)
		return &n
	}
	most, each = read("limit_usd", limit), read("slice_usd", slice)
	return most, each, err
}

// Budget is a budget on the wire.
type Budget struct {
	budgets.Budget
	State BudgetState `json:"state"`
}

// BudgetState is how the present period of a budget stands, on the wire.
type BudgetState struct {
	budgets.State
	PeriodEnd      *time.Time   `json:"period_end"` // nil for a budget without periods
	RemainingUSD   *spend.Nanos `json:"remaining_usd"`
	ReservedTokens int64        `json:"reserved_tokens"`
	ReservedUSD    spend.Nanos  `json:"reserved_usd"`
	RunsBegun      int64        `json:"runs"`
	SettledTokens  int64        `json:"settled_tokens"`
	SettledUSD     spend.Nanos  `json:"settled_usd"`
}

// BudgetLine is a line of a budget's ledger on the wire.
type BudgetLine struct {
	budgets.Line
	Budget string `json:"budget"` // the other one of a transfer
}

type (
	// BudgetList is budgets.
	BudgetList = whole[Budget]
	// BudgetLinePage is a page of a budget's ledger.
	BudgetLinePage = part[BudgetLine]
)

func budgetModel(b budgets.Budget) Budget {
	b.AlertAt = list(b.AlertAt)
	return Budget{Budget: b, State: budgetStateModel(b.State)}
}

func budgetStateModel(s budgets.State) BudgetState {
	s.Alerts = list(s.Alerts)
	m := BudgetState{State: s, PeriodEnd: &s.End, SettledUSD: s.Settled.Money, ReservedUSD: s.Reserved.Money,
		SettledTokens: s.Settled.Tokens, ReservedTokens: s.Reserved.Tokens, RunsBegun: s.Settled.Runs}
	if free, limited := s.Free(); limited {
		m.RemainingUSD = &free
	}
	if s.End.Equal(budgets.Forever) {
		m.PeriodEnd = nil
	}
	return m
}

func budgetLineModel(l budgets.Line) BudgetLine { return BudgetLine{Line: l, Budget: idText(l.Other)} }

func seriesModel(s budgets.Series) BudgetSeries {
	m := BudgetSeries{Points: []BudgetPoint{}, Projection: []BudgetStep{}}
	for _, p := range s.Points {
		m.Points = append(m.Points, BudgetPoint{At: p.At, LimitUSD: usdOrNull(p.Limits.Money), SettledUSD: p.Settled.Money.Fixed(),
			ReservedUSD: p.Reserved.Money.Fixed(), SettledTokens: p.Settled.Tokens,
			ReservedTokens: p.Reserved.Tokens, Runs: p.Settled.Runs})
	}
	settled := s.Budget.State.Settled.Money
	for _, f := range s.Fan {
		m.Projection = append(m.Projection, BudgetStep{At: f.At.UTC().Truncate(time.Microsecond), SettledUsdP50: (settled + f.P50).Fixed(),
			SettledUsdP90: (settled + f.P90).Fixed()})
	}
	return m
}

// usdOrNull returns an amount of dollars; nil for none.
func usdOrNull(n *spend.Nanos) *string {
	if n == nil {
		return nil
	}
	text := n.Fixed()
	return &text
}
