package estimates

import (
	"fmt"

	"fleetboard/internal/spend"
)

// Tier is the size of model that a job is worth.
type Tier string

// The tiers, the smallest first.
const (
	Small    Tier = "small"
	Standard Tier = "standard"
	Large    Tier = "large"
)

// fewTokens is what the formula gives at most for work that a small model does.
const fewTokens = 10_000

// TierOf is the tier of a job and why: the one that was asked for, or else that of the
// rules of document 001, by which critical and the hardest work is for a large model,
// boilerplate and work of few tokens for a small one.
func TierOf(a Ask) (tier Tier, why string) {
	step := a.Step()
	switch {
	case a.Wanted != "":
		return a.Wanted, "The tier was asked for."
	case a.Priority >= urgent:
		return Large, fmt.Sprintf("Priority %d is critical.", a.Priority)
	case step == hardest:
		return Large, fmt.Sprintf("Complexity %d is the hardest.", step)
	case a.Kind == boilerplate:
		return Small, "It is boilerplate."
	case step == unsaid:
		return Standard, "Its complexity is not said."
	case formulaTokens(a) < fewTokens:
		return Small, fmt.Sprintf("Complexity %d is little work.", step)
	}
	return Standard, fmt.Sprintf("Complexity %d is usual work.", step)
}

// rates are pico-dollars for a token, which are millionths of a dollar for a million.
type rates struct{ input, cacheRead, cacheWrite, cacheWrite1h, output int64 }

// tierRates are the list prices of a model of each tier: Claude Haiku 4.5, Sonnet 4.5 and
// Opus 4.5 as of 2025-12-01.
var tierRates = map[Tier]rates{
	Small:    {1_000_000, 100_000, 1_250_000, 2_000_000, 5_000_000},
	Standard: {3_000_000, 300_000, 3_750_000, 6_000_000, 15_000_000},
	Large:    {5_000_000, 500_000, 6_250_000, 10_000_000, 25_000_000},
}

// Tokens are those of a job by meter; each is counted once.
type Tokens struct{ Input, CacheRead, CacheWrite, CacheWrite1h, Output int64 }

// Sum is the tokens of all kinds.
func (t Tokens) Sum() int64 { return t.Input + t.CacheRead + t.CacheWrite + t.CacheWrite1h + t.Output }

const picosPerNano = 1000

// at is what the tokens cost at a tier's prices, in nano-dollars.
func (t Tokens) at(tier Tier) spend.Nanos {
	r := tierRates[tier]
	nanos := (float64(t.Input)*float64(r.input) + float64(t.CacheRead)*float64(r.cacheRead) + float64(t.CacheWrite)*float64(r.cacheWrite) +
		float64(t.CacheWrite1h)*float64(r.cacheWrite1h) + float64(t.Output)*float64(r.output)) / picosPerNano
	return amount(nanos)
}
