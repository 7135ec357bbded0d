package api

import (
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
)

func budgetModel(b budgets.Budget) Budget {
	return Budget{ID: b.ID.String(), Name: b.Name, Scope: BudgetScope(b.Scope), Product: b.Product, Phase: b.Phase, Job: b.JobKey,
		Period: BudgetPeriod(b.Period), Timezone: b.Timezone, LimitUSD: usdOrNull(b.Limits.Money), LimitTokens: b.Limits.Tokens,
		LimitRuns: b.Limits.Runs, Hard: b.Hard, SliceUSD: b.Slice.Fixed(), SliceTokens: b.SliceTokens,
		AlertAt:  append([]int{}, b.AlertAt...),
		Throttle: b.Throttle, ThrottledBelow: b.ThrottledBelow, Unpriced: BudgetUnpriced(b.Unpriced),
		Version: b.Version, CreatedBy: b.CreatedBy, CreatedAt: b.CreatedAt,
		State: budgetStateModel(b.State), Projection: BudgetProjection{BurnUsdPerDay1H: b.Projection.BurnPerDay1h.Fixed(),
			BurnUsdPerDay24H: b.Projection.BurnPerDay24h.Fixed(), BurnUsdPerDay7D: b.Projection.BurnPerDay7d.Fixed(),
			ExhaustedAtP50: b.Projection.ExhaustedP50, ExhaustedAtP90: b.Projection.ExhaustedP90,
			Verdict: BudgetProjectionVerdict(b.Projection.Verdict)}}
}

func budgetStateModel(s budgets.State) BudgetState {
	m := BudgetState{PeriodStart: s.Start, PeriodEnd: &s.End, LimitUSD: usdOrNull(s.Limits.Money), LimitTokens: s.Limits.Tokens,
		LimitRuns: s.Limits.Runs, SettledUSD: s.Settled.Money.Fixed(), ReservedUSD: s.Reserved.Money.Fixed(),
		SettledTokens: s.Settled.Tokens, ReservedTokens: s.Reserved.Tokens, Runs: s.Settled.Runs, UnpricedTokens: s.UnpricedTokens,
		Alerts: mapSlice(s.Alerts, func(a budgets.Alert) BudgetAlert { return BudgetAlert{Threshold: a.Threshold, At: a.At} })}
	if free, limited := s.Free(); limited {
		m.RemainingUSD = usdOrNull(&free)
	}
	if s.End.Equal(budgets.Forever) {
		m.PeriodEnd = nil
	}
	return m
}

func budgetLineModel(l budgets.Line) BudgetLine {
	other := ""
	if l.Other != ids.Nil {
		other = l.Other.String()
	}
	return BudgetLine{ID: l.ID, At: l.At, PeriodStart: l.PeriodStart, Kind: BudgetLineKind(l.Kind), From: BudgetLineFrom(l.From),
		To: BudgetLineTo(l.To), AmountUSD: l.Money.Fixed(), Tokens: l.Tokens, Runs: l.Runs, UnpricedTokens: l.UnpricedTokens,
		Job: l.JobKey, Epoch: l.Epoch, Entry: l.Entry, Budget: other, Until: l.Until, Reason: l.Reason, Actor: l.Actor}
}

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
