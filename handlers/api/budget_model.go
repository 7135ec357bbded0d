package api

import (
	"time"

	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
)

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
