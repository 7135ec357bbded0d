package estimates

import (
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
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

// ChooseTier returns the tier of a job and why: the one that was requested, or else that of the
// rules of document 001, by which critical and the hardest work is for a large model,
// boilerplate and work of few tokens for a small one.
func ChooseTier(a Ask) (tier Tier, why string) {
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

// tierModels is a model of each tier, by whose list prices tiers are compared.
var tierModels = map[Tier]string{Small: "claude-haiku-4-5", Standard: "claude-sonnet-4-5", Large: "claude-opus-4-5"}

// tierPricesOf is the day whose list prices are taken, so that a replay gives the same
// figures on each day.
var tierPricesOf = time.Date(2025, 12, 1, 0, 0, 0, 0, time.UTC)

// tierRates are the list prices of the tiers, in pico-dollars for a token.
var tierRates = readTierRates()

func readTierRates() map[Tier]prices.Tokens {
	rates := map[Tier]prices.Tokens{}
	for tier, model := range tierModels {
		price, known := prices.Builtin.Find("anthropic", model, tierPricesOf)
		if !known {
			panic(fmt.Errorf("the built-in prices have none for %s", model))
		}
		rates[tier] = price.Rates
	}
	return rates
}

const picosPerNano = 1000

// tierCost returns what the tokens of a job cost at a tier's prices.
func tierCost(t prices.Tokens, tier Tier) spend.Nanos {
	r := tierRates[tier]
	picos := 0.0
	for _, meter := range [][2]int64{{t.Input, r.Input}, {t.CacheRead, r.CacheRead}, {t.CacheWrite, r.CacheWrite},
		{t.CacheWrite1h, r.CacheWrite1h}, {t.Output, r.Output}} {
		picos += float64(meter[0]) * float64(meter[1])
	}
	return amount(picos / picosPerNano)
}
