package spend

import "github.com/fleetboard/fleetboard/internal/spend/prices"

// unknown stands for an amount that nobody knows.
const unknown Nanos = -1

// numbers are what may be raised of an entry.
type numbers struct {
	tokens   prices.Tokens
	reported Nanos // as the agent says, or unknown
	batch    bool  // as it was reported first, which is never raised
}

func (e Entry) numbers() (numbers, error) {
	n := numbers{reported: unknown, batch: e.Batch, tokens: prices.Tokens{Input: e.Input, CacheRead: e.CacheRead, CacheWrite: e.CacheWrite,
		CacheWrite1h: e.CacheWrite1h, Output: e.Output}}
	var err error
	if e.CostUSD != nil {
		n.reported, err = ParseUSD(*e.CostUSD)
	}
	return n, err
}

// raised is n with each meter that is larger in m. In whatever order an entry is reported,
// and however often, it ends with the same numbers.
func (n numbers) raised(m numbers) numbers {
	return numbers{reported: max(n.reported, m.reported), batch: n.batch, tokens: prices.Tokens{
		Input: max(n.tokens.Input, m.tokens.Input), CacheRead: max(n.tokens.CacheRead, m.tokens.CacheRead),
		CacheWrite: max(n.tokens.CacheWrite, m.tokens.CacheWrite), CacheWrite1h: max(n.tokens.CacheWrite1h, m.tokens.CacheWrite1h),
		Output: max(n.tokens.Output, m.tokens.Output)}}
}

// cost is what an entry is booked with.
type cost struct {
	computed Nanos // by the price; unknown where none is known
	charged  Nanos // to budgets
	imputed  Nanos // what it would have cost without its flat rate
	unpriced int64 // tokens whose price is unknown
}

// cost returns what the numbers cost by a price; nil is none: then what the agent says is
// charged.
func (n numbers) cost(p *prices.Price) cost {
	if p == nil {
		return cost{computed: unknown, charged: max(n.reported, 0), unpriced: n.tokens.Sum()}
	}
	amount := Nanos(p.Cost(n.tokens, n.batch))
	if p.FlatRate {
		return cost{computed: amount, imputed: amount}
	}
	return cost{computed: amount, charged: amount}
}

// usage returns what sums take of an entry.
func (n numbers) usage(c cost) Usage {
	u := Usage{Entries: 1, Input: n.tokens.Input, Output: n.tokens.Output, CacheRead: n.tokens.CacheRead, CacheWrite: n.tokens.CacheWrite,
		CacheWrite1h: n.tokens.CacheWrite1h, Charged: c.charged, Imputed: c.imputed, UnpricedTokens: c.unpriced,
		Reported: max(n.reported, 0)}
	if c.imputed == 0 {
		u.Computed = max(c.computed, 0)
	}
	if c.computed == unknown && n.reported == unknown {
		u.Unpriced = 1
	}
	return u
}
